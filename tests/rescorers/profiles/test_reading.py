from __future__ import annotations

import pytest

from kitpick_rescorers.errors import InvalidProfile, UnknownProfile
from kitpick_rescorers.profiles import load_profile, parse_profile, shipped_profiles
from kitpick_rescorers.stages import CrossEncode, Enough, Fuse


@pytest.mark.parametrize("name", shipped_profiles())
def test_every_shipped_profile_says_its_name_and_what_it_is_for(name):
    profile = load_profile(name)
    assert profile.name == name
    assert profile.description
    assert isinstance(profile.stages[0], Fuse)


def test_a_profile_of_ones_own_is_read_from_its_path(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\n[[stages]]\nstage = "fuse"\nk = 10\n[[stages]]\nstage = "cross_encode"\n')
    assert load_profile(path).stages == (Fuse(k=10.0), CrossEncode())
    assert load_profile(str(path)).name == "mine"


def test_the_profile_chains_is_the_default_with_complete():
    stages = load_profile("chains").stages
    assert [each.name for each in stages].count("complete") == 1
    assert tuple(each for each in stages if each.name != "complete") == load_profile("kitpick").stages


def test_a_profile_extends_a_shipped_one():
    own = '[[stages]]\nstage = "enough"\n'
    extended = parse_profile(f'name = "mine"\nextends = "rerank"\n{own}', "mine.toml")
    assert extended.stages == (*load_profile("rerank").stages, Enough())
    assert (extended.name, extended.description) == ("mine", "")
    assert parse_profile('name = "mine"\nextends = "bm25"', "mine.toml").stages == load_profile("bm25").stages
    sized = parse_profile('name = "mine"\nextends = "bm25"\n[first_stage]\nsize = 50', "mine.toml")
    assert sized.first_stage.size == 50
    assert extended.first_stage == load_profile("rerank").first_stage


def test_needs_tell_what_to_compute_and_load():
    assert load_profile("bm25").needs() == {"lexical"}
    assert not load_profile("bm25").needs_vector
    assert load_profile("rerank").needs() == {"lexical", "dense", "intent", "scorer", "vector"}
    assert load_profile("rerank").needs_vector


def test_without_scores_only_what_works_without_them_is_left():
    default = load_profile("kitpick")
    assert default.pairs == 12
    bare = default.without_scores()
    assert [stage.name for stage in bare.stages] == ["fuse", "combine", "classify", "learned"]
    assert "scorer" not in bare.needs()
    assert bare.pairs == 0
    learned = bare.stages[-1]
    assert (learned.optional, learned.abstains) == (False, False)
    for name in shipped_profiles():
        assert load_profile(name).without_scores().pairs == 0, name


def test_the_first_stage_over_fetches():
    first = load_profile("hybrid").first_stage
    assert [first.size_for(k) for k in (0, 10, 100, 1_000_000)] == [200, 200, 400, 5_000]


def test_stages_can_be_added():
    hybrid = load_profile("hybrid")
    assert hybrid.then(CrossEncode()).stages == (*hybrid.stages, CrossEncode())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "nonsense = 1",
            r"mine.toml: profile: .*`nonsense`; allowed: description, extends, first_stage",
        ),
        ('name="p"', "mine.toml: profile: .*required field `stages`"),
        ('name="p"\nstages=3', "mine.toml: stages: Expected `array`"),
        ('name="p"\nstages=[3]', r"mine.toml: stages\[0\]"),
        ('name="p"\nstages=[{k=1}]', r"mine.toml: stages\[0\].stage: no stage None; allowed: .*fuse"),
        ('name="p"\nstages=[{stage="melt"}]', r"stages\[0\].stage: no stage 'melt'; allowed: .*cross_encode"),
        ('name="p"\nstages=[{stage="fuse", w=1}]', r"\(fuse\).w: .*; allowed: dense, intent, k"),
        ('name="p"\nstages=[{stage="fuse", k=-1}]', r"stages\[0\] \(fuse\).k: Expected `float` >= 0.0"),
        (
            'name="p"\nstages=[{stage="fuse", when="now"}]',
            r"\(fuse\).when: .*; allowed: always, single",
        ),
        (
            'name="p"\nstages=[]\n[first_stage]\nsizes=3',
            "first_stage: .*; allowed: factor, request_matrix, size",
        ),
        ('name="p"\nextends="best"', "mine.toml: extends: no shipped profile 'best'; allowed: bm25, "),
        ('name="p"\nextends=["bm25"]', "mine.toml: extends: no shipped profile"),
        (
            'name="p"\nextends="hybrid"\n' + '[[stages]]\nstage="enough"\n' * 50,
            "mine.toml: stages: 51 with those of hybrid: at most 50",
        ),
        ("name = ", "mine.toml: TOML: "),
    ],
)
def test_an_error_names_the_file_the_field_and_what_is_allowed(text, message):
    with pytest.raises(InvalidProfile, match=message):
        parse_profile(text, "mine.toml")


def test_an_unknown_profile_is_answered_with_the_shipped_ones(tmp_path):
    with pytest.raises(UnknownProfile, match="shipped are bm25, chains, dense, hybrid"):
        load_profile("fast")
    with pytest.raises(UnknownProfile, match=r"own is named by the path"):
        load_profile(tmp_path / "absent.toml")


def test_a_file_that_is_no_profile_is_refused_before_it_is_parsed(tmp_path):
    path = tmp_path / "big.toml"
    path.write_bytes(b"#" * 300_000)
    with pytest.raises(InvalidProfile, match="larger than"):
        load_profile(path)
    path.write_bytes(b"name = '\xff'")
    with pytest.raises(InvalidProfile, match="not UTF-8"):
        load_profile(path)


@pytest.mark.parametrize(
    "text", ["name = " + "[" * 20_000, "name = 1" + "0" * 5_000, "x = {" + "a = {" * 500]
)
def test_toml_that_its_reader_stumbles_over_is_refused(text):
    """Found by the fuzzer: nesting and numbers for which the parser raises other errors than its own."""
    with pytest.raises(InvalidProfile, match="TOML"):
        parse_profile(text, "mine.toml")
