// SPDX-License-Identifier: Apache-2.0
/** What is kept of a rendered chart: all of the smallest values, and of the others what differs from that if it is shorter. */
import { createTwoFilesPatch } from 'diff';
import { goldenPath } from './matrix.ts';

export const smallest = 'minimal';

export interface Golden {
  readonly path: string;
  readonly text: string;
}

export function goldenOf(
  chart: string,
  extension: 'json' | 'yaml',
  rendered: { readonly name: string; readonly text: string; readonly smallest: string },
): Golden {
  const { name, text } = rendered;
  const whole = { path: goldenPath(chart, `${name}.${extension}`), text };
  if (name === smallest) return whole;
  const difference = createTwoFilesPatch(smallest, name, rendered.smallest, text, undefined, undefined, { context: 2 });
  return difference.length < text.length ? { path: goldenPath(chart, `${name}.diff`), text: difference } : whole;
}
