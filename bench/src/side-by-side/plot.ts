// SPDX-License-Identifier: Apache-2.0
/** The results as bars: one group per measure, each with its own scale. Readable on dark and light pages. */
import { svgElement, svgPicture } from '@csi-sidecars/e2e';
import { measuredIds, show, type Report } from './report.ts';

const width = 760;
const barsFrom = 420;
const barsWidth = 230;
const barHeight = 12;
const top = 34;
const colours = ['#2563eb', '#9ca3af', '#d97706', '#059669'];

export function toSvg(report: Report): string {
  const { bench, implementations, results } = report;
  const groups = measuredIds(report);
  const groupHeight = implementations.length * (barHeight + 2) + 8;
  const text = (x: number, y: number, content: string): string =>
    svgElement('text', { x, y, fill: '#111827' }, content);
  const bar = ([x, y]: readonly [number, number], length: number, fill: string | undefined): string =>
    svgElement('rect', { x, y, width: length, height: barHeight, fill });
  const legend = implementations.map(({ name, version }, index) => {
    // Versions of several programs are too long for it; the page has them.
    const title = version.includes(',') ? name : `${name} ${version}`;
    return bar([16 + index * 185, 12], barHeight, colours[index]) + text(34 + index * 185, 22, title);
  });
  const body = groups.map((id, group) => {
    const measure = bench.measures[id]!;
    const y = top + group * groupHeight;
    const values = implementations.map(({ name }) => results.value(name, id));
    const scale = barsWidth / Math.max(...values.map((value) => value ?? 0), Number.MIN_VALUE);
    const bars = values.map((value, index) => {
      const at = y + index * (barHeight + 2);
      const length = (value ?? 0) * scale;
      return (
        bar([barsFrom, at], Math.max(1, length), colours[index]) +
        text(barsFrom + length + 6, at + 10, show(value, measure))
      );
    });
    return text(16, y + 16, measure.title) + bars.join('');
  });
  const height = top + groups.length * groupHeight + 8;
  return svgPicture({ width, height, fontSize: 12, background: '#ffffff' }, [...legend, ...body]);
}
