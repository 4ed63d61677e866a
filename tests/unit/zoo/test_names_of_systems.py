"""FLOOR | NAME | FOLDER, each with [:variant][:key=value...]."""

import pytest

from dualwm.envs.base import get_world
from dualwm.errors import RecipeError
from dualwm.zoo.evaluation import Spec, entrant


@pytest.mark.parametrize(
    ("text", "base", "variant", "overrides"),
    [
        ("random", "random", "full", {}),
        ("tworoom:low-only", "tworoom", "low-only", {}),
        ("runs/a:search=192/30/20", "runs/a", "full", {"low_search": "192/30/20"}),
        ("a:route_search=8/2/2:paper", "a", "paper", {"high_search": "8/2/2"}),
        (
            "a:warm_start=false:low_std=0.5:max_routes=3:route_every_decisions=none",
            "a",
            "full",
            {"warm_start": False, "low_std": 0.5, "max_routes": 3, "route_every_decisions": None},
        ),
    ],
)
def test_a_name_says_base_variant_and_overrides(text: str, base: str, variant: str, overrides: dict[str, object]):
    spec = Spec.parse(text)
    assert (spec.base, spec.variant, spec.overrides) == (base, variant, overrides)


@pytest.mark.parametrize("text", ["b:low-only:a=1:c=x/y", "tworoom", "a:z=1:b=2"])
def test_the_resolved_name_is_one_name_whatever_the_order_of_its_words(text: str):
    base, *words = text.split(":")
    again = Spec.parse(":".join([base, *reversed(words)]))
    assert str(Spec.parse(text)) == str(again)
    assert Spec.parse(str(again)) == again


@pytest.mark.parametrize("text", ["", ":low-only", "a:b:c", "a::b", "a:=3"])
def test_other_names_are_refused_with_the_grammar(text: str):
    with pytest.raises(RecipeError, match=r"FLOOR \| NAME \| FOLDER"):
        Spec.parse(text)


def test_floors_have_no_settings_and_unknown_names_suggest_the_near_one():
    world = get_world("tworoom")
    with pytest.raises(RecipeError, match="'random' has no variants and no settings"):
        entrant(Spec.parse("random:low-only"), world, 25, "snap")
    with pytest.raises(RecipeError, match=r"no floor, shipped system or folder named 'randon'.*'random'"):
        entrant(Spec.parse("randon"), world, 25, "snap")


def test_a_short_name_is_that_of_the_worlds_own_system(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dualwm.zoo.evaluation.shipped_systems", lambda: {"tworoom": None, "tworoom-lewm": None})
    world = get_world("tworoom")
    assert str(Spec.parse("lewm:paper").of(world)) == "tworoom-lewm:paper"
    assert [str(Spec.parse(name).of(world)) for name in ("tworoom", "random", "runs/a")] == [
        "tworoom",
        "random",
        "runs/a",
    ]
