"""The base of texts in any script: as good without spaces as with them, and no richer than it clearly needs to be."""

import numpy as np
import pytest

from askwho._parts import read_part, state_of
from askwho.core import folds
from askwho.learners import _text_base, own_base
from askwho.learners._text_base import text_base
from askwho.learners._words import Words, words_of

# Each script's letters, and how long its words are.
SCRIPTS = {
    "Latin": ("abcdefghijklmnopqrstuvwxyz", (5, 9)),
    "Han": ("".join(map(chr, range(0x4E00, 0x4E00 + 1200))), (2, 3)),
    "Thai": ("".join(map(chr, range(0x0E01, 0x0E2F))), (4, 7)),
}


def lexicon(rows, script, *, joint, length=12, tells=2):
    """Texts of made words, and their classes, which are the same in all scripts.

    Two words of each text mostly belong to its class, the others to nobody; they are joined by spaces or by nothing.
    """
    letters, sizes = SCRIPTS[script]
    coin, rng = np.random.default_rng(1), np.random.default_rng(0)
    words = np.array(["".join(coin.choice(list(letters), coin.integers(*sizes))) for _ in range(700)])
    truth = rng.integers(0, 2, rows)
    drawn = rng.integers(200, 700, (rows, length))
    own = np.where(truth[:, None] == (rng.random((rows, tells)) < 0.85), 0, 100)
    drawn[np.arange(rows)[:, None], rng.integers(0, length, (rows, tells))] = own + rng.integers(0, 100, own.shape)
    return [joint.join(words[row]) for row in drawn], np.array(["bad", "good"])[truth]


def found(texts, truth, count=3):
    return text_base(texts, truth, folds(np.arange(len(truth)), count))


@pytest.fixture(scope="module")
def spaced():
    return found(*lexicon(1500, "Latin", joint=" "))


def test_words_of_the_usual_strength_are_enough_where_spaces_part_them(spaced):
    assert spaced.name == "words"
    assert spaced.fit(spaced.inputs, spaced.truth).strength == 10
    assert spaced.losses.mean() < 0.25


@pytest.mark.parametrize(("script", "name"), [("Han", "words"), ("Thai", "words-and-characters")])
def test_texts_without_spaces_are_read_as_well_as_their_spaced_twins(script, name, spaced):
    joined = found(*lexicon(1500, script, joint=""))
    assert joined.losses.mean() <= spaced.losses.mean() + 0.01
    # Characters of Han and their pairs are words; of an alphabet it takes more characters.
    assert joined.name == name


def test_characters_tried_on_some_of_the_rows_are_read_of_all(monkeypatch):
    monkeypatch.setattr(_text_base, "_ENOUGH", 800)
    texts, truth = lexicon(900, "Thai", joint="")
    chosen = found(texts, truth)
    assert (chosen.name, chosen.inputs.shape) == ("words-and-characters", (900, 2**20 + 2**19))
    assert chosen.losses.mean() < 0.4


def test_few_rows_of_one_class_try_no_characters(monkeypatch):
    monkeypatch.setattr(_text_base, "_ENOUGH", 2)
    monkeypatch.setattr(_text_base, "with_characters", None)
    texts, truth = lexicon(90, "Thai", joint="")
    assert found(texts, truth).name == "words"


class Constant(Words):
    """A model that says the last class where its strength is above 10, and the first elsewhere."""

    def fit(self, _, truth):
        self.classes_ = np.unique(truth)
        return self

    def predict_proba(self, words):
        right = self.strength > 10
        return np.tile([0.5 - right, 0.5 + right], (words.shape[0], 1))

    def predict(self, words):
        return self.classes_[self.predict_proba(words).argmax(axis=1)]


def test_another_strength_is_taken_where_it_is_clearly_better(monkeypatch):
    monkeypatch.setattr(_text_base, "Words", Constant)
    texts = ["酒店"] * 60
    clear = np.array(["a"] * 20 + ["b"] * 40)
    chosen = found(texts, clear)
    assert chosen.fit(chosen.inputs, clear).strength == 100
    # One row more or less of sixty is chance.
    even = np.array(["a", "b"] * 29 + ["b", "b"])
    chosen = found(texts, even)
    assert chosen.fit(chosen.inputs, even).strength == 10


def test_a_base_of_characters_is_found_saved_and_read():
    texts, truth = lexicon(900, "Thai", joint="")
    trial = own_base(np.zeros((900, 1)), texts, truth, folds(np.arange(900), 3), task="classification")
    assert (trial.base.name, trial.base.reads) == ("words-and-characters", "characters")
    answers, shares = trial.base.say(np.zeros((5, 1)), texts[:5])
    said, thought = read_part(state_of(trial.base, "base")).say(np.zeros((5, 1)), texts[:5])
    np.testing.assert_array_equal(said, answers)
    np.testing.assert_allclose(thought, shares, atol=1e-6)


# Plain sentences about hotels and restaurants, good ones and bad ones.
GOOD, BAD = {}, {}
GOOD["Chinese"] = """
房间很干净，服务也很好。|早餐很好吃，下次还会再来。|老板很热情，味道很好。|位置很方便，非常满意。|酒店很新，住得很舒服。
服务员很热情，我们很满意。|菜很好吃，价格也便宜。|房间很大，床很舒服。|环境很好，值得推荐。|送餐很快，味道不错。
很满意的一次旅行，推荐大家来。|前台很热情，房间干净舒服。|东西好吃又便宜，会再来。|景色很美，服务不错。|交通方便，早餐也不错。
"""
BAD["Chinese"] = """
房间很脏，服务也很差。|早餐很难吃，再也不会来了。|老板很冷淡，味道太差。|位置太偏，非常失望。|酒店很旧，住得很难受。
服务员态度很差，我们很失望。|菜又咸又难吃，价格还贵。|房间太小，床很硬。|环境很吵，不值得来。|送餐太慢，饭都凉了。
很失望的一次旅行，不推荐。|前台态度差，房间又脏又吵。|东西难吃又贵，不会再来。|隔音太差，一晚没睡好。|厕所很脏，味道难闻。
"""
GOOD["Japanese"] = """
部屋がとてもきれいで、満足です。|料理がおいしくて、また来たいです。|スタッフが親切で、とても良かったです。|駅から近くて便利です。
朝食がおいしいです。|ベッドが快適でよく眠れました。|景色がきれいで最高でした。|値段も安くて満足しました。|温泉が最高に良かったです。
とても親切な対応でした。|部屋が広くて快適でした。|料理も景色も最高です。|静かで快適に過ごせました。|また泊まりたい宿です。|サービスが良くて満足です。
ラーメンがとてもおいしかった。|店員さんが笑顔で親切だった。|清潔な部屋で気持ちよく過ごせた。|おすすめの店です。|子どもも喜んで楽しかったです。
ホテルの朝食が最高においしい。|掃除が行き届いていて清潔です。|安いのに味が良くておすすめです。|夜景がすばらしくて感動しました。|また行きたいと思います。
親切に道を教えてくれてうれしかった。|静かな部屋で快適だった。|魚が新鮮でおいしかったです。|期待以上のサービスで満足した。|庭がきれいで楽しい時間でした。
"""
BAD["Japanese"] = """
部屋がとても汚くて、残念です。|料理がまずくて、もう行きません。|スタッフが無愛想で、とても残念でした。|駅から遠くて不便です。
朝食がまずいです。|ベッドが硬くて眠れませんでした。|うるさくて最悪でした。|値段が高くてがっかりしました。|お風呂が汚くて最悪でした。
とても失礼な対応でした。|部屋が狭くて臭いです。|料理もサービスも最悪です。|隣がうるさくて眠れません。|もう二度と泊まりません。|対応が悪くて不満です。
スープがぬるくてまずかった。|店員の態度が悪くて不快だった。|トイレが汚くて臭かった。|二度と行かない店です。|一時間も待たされて最悪でした。
虫がいて気持ち悪かった。|壁が薄くて隣の声がうるさい。|高いのに味が悪くて残念だった。|予約が通っていなくて困りました。|もう行きたくないと思います。
電話の対応が失礼で腹が立った。|エアコンが壊れていて寒かった。|肉が硬くてまずかったです。|期待外れでがっかりした。|狭くて汚い部屋で不快でした。
"""
GOOD["Thai"] = """
ห้องสะอาดมากและบริการดี|อาหารอร่อยมาก จะกลับมาอีก|พนักงานใจดีและสุภาพ|ที่พักสวยและสะดวกสบาย|เตียงนอนสบายมาก|วิวสวยมาก ประทับใจ
ราคาถูกและอาหารอร่อย|บริการดี ประทับใจมาก|ห้องกว้างและสะอาด|เดินทางสะดวก แนะนำเลย|อาหารเช้าอร่อย พนักงานสุภาพ|ชอบมาก จะกลับมาอีกแน่นอน
สะอาด สะดวก และบริการดี|พนักงานบริการดีมาก|ร้านสวย อาหารอร่อย แนะนำ
"""
BAD["Thai"] = """
ห้องสกปรกมากและบริการแย่|อาหารไม่อร่อย จะไม่กลับมาอีก|พนักงานหยาบคายและช้า|ที่พักเก่าและเสียงดัง|เตียงแข็งนอนไม่หลับ|ห้องเหม็นมาก ผิดหวัง
ราคาแพงและอาหารไม่อร่อย|บริการแย่ ผิดหวังมาก|ห้องแคบและสกปรก|เดินทางลำบาก ไม่แนะนำ|อาหารเช้าแย่ พนักงานหยาบคาย|ไม่ชอบเลย จะไม่มาอีก
สกปรก เสียงดัง และบริการช้า|พนักงานบริการแย่มาก|ร้านเก่า อาหารเย็นชืด ไม่แนะนำ
"""


@pytest.mark.parametrize("language", GOOD)
def test_sentences_of_real_languages_are_told_apart(language):
    good, bad = (text[language].strip().replace("\n", "|").split("|") for text in (GOOD, BAD))
    truth = np.repeat(["good", "bad"], [len(good), len(bad)])
    assert 2 * len(good) == len(truth)
    right = ~found([*good, *bad], truth, 10).losses.astype(bool)
    # A coin's share is beyond two of its standard deviations in two of a hundred cases.
    assert right.mean() > 0.5 + 2 * 0.5 / np.sqrt(len(right))


def test_chinese_is_read_by_its_characters_and_not_by_its_sentences():
    rows = words_of(["房间很干净，服务也很好。", "房间很干净"])
    assert (rows[0].multiply(rows[1])).sum() == 9
    model = Words().fit(words_of(["很好吃", "好极了", "很难吃", "差极了"] * 3), np.array([1, 1, 0, 0] * 3))
    np.testing.assert_array_equal(model.predict(words_of(["真好啊", "真差啊"])), [1, 0])
