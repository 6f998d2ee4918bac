// SPDX-License-Identifier: Apache-2.0
/** Evaluated panels as one picture, in the dashboard's own grid. Plain SVG with a background of its own. */
import { svgElement, svgNumber as short, svgPicture } from '../svg.ts';
import type { EvaluatedPanel, Line } from './dashboard.ts';

export interface Picture {
  readonly title: string;
  readonly panels: readonly EvaluatedPanel[];
  /** Seconds, ascending. */
  readonly times: readonly number[];
}

interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const columns = 24;
const unitWidth = 40;
const unitHeight = 29;
const margin = 12;
const top = 40;
const gap = 3;
const mostLegendLines = 5;
const legendLineHeight = 14;
/** The average width of a character in the font of the legend. */
const characterWidth = 5.7;
const sampleWidth = 18;
/** Between the numbers of the axis and the edge. */
const axisWidth = 62;
const colours = ['#2563eb', '#d97706', '#059669', '#dc2626', '#7c3aed', '#0891b2', '#be185d', '#65a30d', '#475569'];
/** Lines beyond the number of colours differ by their dashes. */
const dashes = [undefined, '5 2', '1.5 2', '8 2 2 2'];
const [ink, faint, grid] = ['#1f2937', '#6b7280', '#e5e7eb'];

export function toSvg({ title, panels, times }: Picture): string {
  const rows = Math.max(...panels.map(({ panel: { gridPos } }) => gridPos.y + gridPos.h));
  const [width, height] = [columns * unitWidth + 2 * margin, top + rows * unitHeight + margin];
  return svgPicture({ width, height, fontSize: 11, background: '#f3f4f6' }, [
    text({ x: margin + gap, y: 26, size: 17, content: title }),
    ...panels.map((each) => drawn(each, times)),
  ]);
}

function drawn({ panel, queries }: EvaluatedPanel, times: readonly number[]): string {
  const { x, y, w, h } = panel.gridPos;
  const area = { x: margin + x * unitWidth, y: top + y * unitHeight, width: w * unitWidth, height: h * unitHeight };
  if (panel.targets === undefined) {
    return text({ x: area.x + gap, y: area.y + 19, size: 13, weight: 'bold', content: panel.title });
  }
  // The highest first: they are what a reader asks about, and the legend may not have room for all.
  const lines = queries.flatMap((each) => each.lines).toSorted((a, b) => highestOf(b) - highestOf(a));
  const unit = panel.fieldConfig?.defaults.unit ?? 'short';
  const legend = legendOf(lines, area);
  const plot = {
    x: area.x + axisWidth,
    y: area.y + 32,
    width: area.width - axisWidth - 18,
    height: area.height - 32 - 30 - legend.lines * legendLineHeight,
  };
  return [
    svgElement('rect', {
      x: area.x + gap,
      y: area.y + gap,
      width: area.width - 2 * gap,
      height: area.height - 2 * gap,
      rx: 3,
      fill: '#ffffff',
      stroke: grid,
    }),
    text({ x: area.x + 12, y: area.y + 20, size: 12, weight: 'bold', content: panel.title }),
    ...(lines.length === 0
      ? [text({ x: plot.x + 20, y: plot.y + plot.height / 2, colour: faint, content: 'no data' })]
      : chart({ lines, unit, plot, times })),
    ...legend.drawn,
  ].join('\n');
}

interface Chart {
  readonly lines: readonly Line[];
  readonly unit: string;
  readonly plot: Area;
  readonly times: readonly number[];
}

function chart({ lines, unit, plot, times }: Chart): readonly string[] {
  const highest = Math.max(...lines.map(highestOf));
  const step = niceStep(highest > 0 ? highest : 1, unit);
  const steps = Math.max(1, Math.ceil((highest > 0 ? highest : 1) / step - 1e-9));
  const [from, to] = [times[0] ?? 0, times.at(-1) ?? 1];
  const atX = (time: number): number => plot.x + ((time - from) / (to - from)) * plot.width;
  const atY = (value: number): number => plot.y + plot.height * (1 - value / (steps * step));
  const horizontal = Array.from({ length: steps + 1 }, (_, index) => {
    const y = atY(index * step);
    const label = text({
      x: plot.x - 5,
      y: y + 3.5,
      size: 9.5,
      colour: faint,
      anchor: 'end',
      content: inUnit(index * step, step, unit),
    });
    return svgElement('path', { d: `M${short(plot.x)} ${short(y)}h${short(plot.width)}`, stroke: grid }) + label;
  });
  const everyMinutes = plot.width < 300 ? 20 : 10;
  const vertical = times
    .filter((time) => time % (everyMinutes * 60) === 0)
    .map((time) =>
      text({
        x: atX(time),
        y: plot.y + plot.height + 13,
        size: 9.5,
        colour: faint,
        anchor: time === to ? 'end' : 'middle',
        content: `${time / 60} min`,
      }),
    );
  const paths = lines.map(({ values }, index) => {
    const d = pathOf(values.map((value, at) => (value === undefined ? undefined : [atX(times[at]!), atY(value)])));
    return svgElement('path', { d, fill: 'none', 'stroke-width': 1.4, 'stroke-linecap': 'round', ...strokeOf(index) });
  });
  return [...horizontal, ...vertical, ...paths];
}

/** A gap in the values is a gap in the line. Points on a straight line are left out. */
function pathOf(points: readonly (readonly [number, number] | undefined)[]): string {
  return points
    .map((point, at) => {
      if (point === undefined) return '';
      const [before, after] = [points[at - 1], points[at + 1]];
      if (before === undefined) return `M${point.map(short).join(' ')}${after === undefined ? 'h.1' : ''}`;
      if (after !== undefined && Math.abs(before[1] - point[1]) + Math.abs(after[1] - point[1]) < 0.05) return '';
      return `L${point.map(short).join(' ')}`;
    })
    .join('');
}

interface Legend {
  readonly lines: number;
  readonly drawn: readonly string[];
}

/** Entries one after the other, at the bottom of the panel; what has no room is counted. */
function legendOf(lines: readonly Line[], area: Area): Legend {
  const [from, to] = [area.x + 14, area.x + area.width - 12];
  const names = lines.map(({ legend }) => legend.replace(/\/csi\.v1\.\w+\//, ''));
  const widthOf = (name: string): number => sampleWidth + name.length * characterWidth + 12;
  const places: { readonly x: number; readonly line: number }[] = [];
  let [x, line] = [from, 0];
  for (const [index, name] of names.entries()) {
    // The last line keeps room for the count of what is left out.
    const room = line === mostLegendLines - 1 && index < names.length - 1 ? widthOf('and 99 more') : 0;
    const fits = x + widthOf(name) + room <= to;
    if (!fits && line === mostLegendLines - 1) break;
    if (!fits && x > from) [x, line] = [from, line + 1];
    places.push({ x, line });
    x += widthOf(name);
  }
  const count = line + 1;
  const atY = (at: number): number => area.y + area.height - 12 - (count - 1 - at) * legendLineHeight;
  const drawnEntries = places.map((place, index) => {
    const y = atY(place.line);
    const d = `M${short(place.x)} ${short(y - 3.5)}h13`;
    const sample = svgElement('path', { d, 'stroke-width': 2.2, ...strokeOf(index) });
    return sample + text({ x: place.x + sampleWidth, y, size: 10, content: names[index]! });
  });
  const missing = names.length - places.length;
  const more = text({ x, y: atY(count - 1), size: 10, colour: faint, content: `and ${missing} more` });
  return { lines: count, drawn: missing === 0 ? drawnEntries : [...drawnEntries, more] };
}

function highestOf({ values }: Line): number {
  return Math.max(...values.map((value) => value ?? 0));
}

function strokeOf(index: number): Readonly<Record<string, string | undefined>> {
  const dash = dashes[Math.floor(index / colours.length) % dashes.length];
  return { stroke: colours[index % colours.length], 'stroke-dasharray': dash };
}

/** 1, 2 or 5 times a power of ten, or of two for bytes, so that there are two to five steps. */
function niceStep(highest: number, unit: string): number {
  const rough = highest / 4;
  if (unit === 'bytes') return 2 ** Math.ceil(Math.log2(rough));
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9))!;
}

/** The units of the dashboard, as Grafana writes them. */
function inUnit(value: number, step: number, unit: string): string {
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  switch (unit) {
    case 'bytes':
      return `${value / 2 ** 20} MiB`;
    case 's':
      return step < 1 ? `${Math.round(value * 1000)} ms` : `${value} s`;
    case 'ops':
      return `${value.toFixed(digits)} op/s`;
    case 'reqps':
      return `${value.toFixed(digits)} req/s`;
    case 'percentunit':
      return `${Math.round(value * 100)}%`;
    default:
      return value.toFixed(digits);
  }
}

interface Text {
  readonly x: number;
  readonly y: number;
  readonly content: string;
  readonly size?: number;
  readonly colour?: string;
  readonly weight?: string;
  readonly anchor?: 'end' | 'middle';
}

function text({ x, y, content, size, colour = ink, weight, anchor }: Text): string {
  const font = { 'font-size': size, 'font-weight': weight, 'text-anchor': anchor };
  return svgElement('text', { x, y, fill: colour, ...font }, content);
}
