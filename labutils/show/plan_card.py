"""A training plan as a card: the numbers as a table, the learning rate by step as a line, drawn in milliseconds."""

import html
import math
from dataclasses import dataclass

import numpy as np

from labutils.bench.units import format_si
from labutils.show import style
from labutils.theory.plan import Plan

_WIDE, _HIGH, _LEFT, _BELOW, _ABOVE = 420, 206, 58, 40, 30  # px of the drawing and of its margins
_WARN = "#B33C00"


@dataclass(frozen=True)
class PlanCard:
    """Shows a Plan in a notebook: table, cautions, and the first epochs of its learning-rate schedule."""

    plan: Plan

    @property
    def rows(self):
        """(name, value) of what the plan says."""
        plan = self.plan
        rows = [
            ("Global batch", f"{plan.batch:,} = {plan.replicas} x {plan.per_replica_batch:,}"),
            ("Steps per epoch", f"{plan.steps_per_epoch:,}"),
            ("Scaled learning rate", f"{plan.rate:.3g}"),
            ("Warm-up", _warmup(plan)),
            ("Predicted step time", format_si(plan.step_time, "s")),
        ]
        if not math.isnan(plan.steps):
            rows.append(("Steps to target", f"{plan.steps:,.0f} ({plan.epochs:,.1f} epochs)"))
            rows.append(("Predicted time to target", format_si(plan.time_to_target, "s")))
        return rows

    def __repr__(self):
        lines = [f"{name:<26}{value}" for name, value in self.rows]
        return "\n".join([*lines, *(f"! {caution}" for caution in self.plan.cautions)])

    def _repr_html_(self):
        left = "style='text-align:left;padding:4px 14px 4px 0;font-size:15px;white-space:nowrap"
        rows = "".join(
            f"<tr><td {left}'>{name}</td><td {left};font-weight:bold'>{html.escape(value)}</td></tr>"
            for name, value in self.rows
        )
        cautions = "".join(
            f"<div style='color:{_WARN};font-size:14px'>⚠ {html.escape(caution)}</div>"
            for caution in self.plan.cautions
        )
        return (
            "<div style='display:flex;flex-wrap:wrap;gap:24px;align-items:center'>"
            f"<table>{rows}</table>{_drawing(self.plan)}</div><div style='min-height:66px'>{cautions}</div>"
        )


def _warmup(plan):
    if plan.warmup_steps:
        return f"{plan.warmup_steps:,} steps"
    return "none" if plan.rate > plan.base_rate else "none: the rate does not grow"


def _drawing(plan):
    """The learning rate by step as an SVG: from the first step to half as far again as warm-up lasts."""
    last = max(math.ceil(plan.warmup_steps * 1.5), plan.steps_per_epoch, 2)
    steps = np.array([0, plan.warmup_steps, last])
    top = max(plan.rate, plan.base_rate)
    xs = _LEFT + (_WIDE - _LEFT - 10) * steps / last
    ys = _HIGH - _BELOW - (_HIGH - _BELOW - _ABOVE) * plan.schedule(steps) / top
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
    floor = _HIGH - _BELOW
    words = [
        (_LEFT, floor + 18, "middle", "0"),
        (_WIDE - 10, floor + 18, "end", f"{last:,}"),
        ((_LEFT + _WIDE) / 2, floor + 34, "middle", "step"),
        (_LEFT - 6, floor + 4, "end", "0"),
        (_LEFT - 6, _ABOVE + 5, "end", f"{top:.3g}"),
        (_LEFT, _ABOVE - 14, "start", "learning rate"),
    ]
    texts = "".join(
        f"<text x='{x:.0f}' y='{y:.0f}' text-anchor='{anchor}' font-size='13' fill='{style.INK}'>{word}</text>"
        for x, y, anchor, word in words
    )
    axes = f"M{_LEFT},{_ABOVE} V{floor} H{_WIDE - 10}"
    return (
        f"<svg width='{_WIDE}' height='{_HIGH}' role='img' aria-label='learning rate by step' style='background:white'>"
        f"<path d='{axes}' fill='none' stroke='{style.INK}'/>"
        f"<polyline points='{line}' fill='none' stroke='{style.color('update')}' stroke-width='3'/>{texts}</svg>"
    )
