// SPDX-License-Identifier: Apache-2.0
/** The results as bars: one group per measure, each with its own scale. Plain SVG, readable on dark and light pages. */
import { svgPicture, svgText } from '@csi-sidecars/e2e';
import type { ImplementationName } from './measures.ts';
import { measuredIds, show, type Report } from './report.ts';

const width = 760;
const barsFrom = 420;
const barsWidth = 230;
const barHeight = 12;
const groupHeight = 36;
const top = 34;
const colours: Readonly<Record<ImplementationName, string>> = { ours: '#2563eb', upstream: '#9ca3af' };

export function toSvg<Id extends string>(report: Report<Id>): string {
  const { subject, implementations, results } = report;
  const groups = measuredIds(report);
  const height = top + groups.length * groupHeight + 8;
  const legend = implementations.map(
    ({ name, version }, index) =>
      rect({ x: 16 + index * 200, y: 12, width: 12, fill: colours[name] }) +
      text(34 + index * 200, 22, `${name} ${version}`),
  );
  const body = groups.map((id, group) => {
    const measure = subject.measures[id];
    const y = top + group * groupHeight;
    const values = implementations.map(({ name }) => results.value(name, id) ?? 0);
    const scale = barsWidth / Math.max(...values, Number.MIN_VALUE);
    const bars = implementations.map(({ name }, index) => {
      const value = values[index] ?? 0;
      const at = y + index * (barHeight + 2);
      const bar = rect({ x: barsFrom, y: at, width: Math.max(1, value * scale), fill: colours[name] });
      return bar + text(barsFrom + value * scale + 6, at + 10, show(results.value(name, id), measure));
    });
    return text(16, y + 16, measure.title) + bars.join('');
  });
  return svgPicture({ width, height, fontSize: 12, background: '#ffffff' }, [...legend, ...body]);
}

interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly fill: string;
}

function rect(bar: Rect): string {
  return `<rect x="${bar.x}" y="${bar.y}" width="${bar.width.toFixed(1)}" height="${barHeight}" fill="${bar.fill}"/>`;
}

function text(x: number, y: number, content: string): string {
  return svgText({ x: x.toFixed(1), y, fill: '#111827' }, content);
}
