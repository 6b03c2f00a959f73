CREATE TABLE askwho_budgets (name TEXT PRIMARY KEY, cap BIGINT NOT NULL, period TEXT NOT NULL);
CREATE TABLE askwho_calls (
            id TEXT PRIMARY KEY,
            decision TEXT NOT NULL,
            expert TEXT NOT NULL,
            idempotency TEXT NOT NULL,
            worst BIGINT NOT NULL,
            expires DOUBLE PRECISION NOT NULL,
            status TEXT NOT NULL,
            charged BIGINT NOT NULL,
            answer TEXT,
            info DOUBLE PRECISION,
            why TEXT NOT NULL,
            at DOUBLE PRECISION NOT NULL,
            ended DOUBLE PRECISION,
            pledged TEXT NOT NULL
        ) {clustered};
CREATE TABLE askwho_decisions (
            id TEXT PRIMARY KEY,
            at DOUBLE PRECISION NOT NULL,
            query TEXT NOT NULL,
            decision TEXT NOT NULL,
            verdict TEXT,
            probability DOUBLE PRECISION,
            paid BIGINT,
            truth TEXT
        );
CREATE TABLE askwho_ledger (version INTEGER NOT NULL);
CREATE TABLE askwho_spend (
            budget TEXT NOT NULL,
            span TEXT NOT NULL,
            spent BIGINT NOT NULL,
            held BIGINT NOT NULL,
            excess BIGINT NOT NULL,
            PRIMARY KEY (budget, span)
        ) {clustered};
INSERT INTO askwho_budgets VALUES('all',100,'total');
INSERT INTO askwho_calls VALUES('c1','d','a','key-c1',20,1800000060.0,'settled',10,'"yes"',0.5,'',1800000000.0,1800000000.0,'[["all", "total"]]');
INSERT INTO askwho_calls VALUES('c2','d','a','key-c2',60,1800000060.0,'held',0,NULL,NULL,'',1800000000.0,NULL,'[["all", "total"]]');
INSERT INTO askwho_calls VALUES('c3','d','a','key-c3',10,1800000060.0,'freed',0,NULL,NULL,'429',1800000000.0,1800000000.0,'[["all", "total"]]');
INSERT INTO askwho_decisions VALUES('d',1800000000.0,'{"x": 0.5}','{"ask": ["a"], "propensity": 0.5}','"yes"',0.9,10,'"no"');
INSERT INTO askwho_ledger VALUES(1);
INSERT INTO askwho_spend VALUES('all','total',10,60,0);
CREATE INDEX askwho_calls_held ON askwho_calls (expires) WHERE status = 'held';
CREATE INDEX askwho_calls_unknown ON askwho_calls (at) WHERE status = 'unknown';
