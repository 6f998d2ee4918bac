// SPDX-License-Identifier: Apache-2.0
/** What is kept of a rendered chart: all of the smallest values, and of the others what differs from that if it is shorter. */
import { existsSync, readFileSync } from 'node:fs';
import { applyPatch, createTwoFilesPatch } from 'diff';
import { goldenPath } from './matrix.ts';

export const smallest = 'minimal';

type Extension = 'json' | 'yaml';

export interface Golden {
  readonly path: string;
  readonly text: string;
}

export function goldenOf(
  chart: string,
  extension: Extension,
  rendered: { readonly name: string; readonly text: string; readonly smallest: string },
): Golden {
  const { name, text } = rendered;
  const whole = { path: goldenPath(chart, `${name}.${extension}`), text };
  if (name === smallest) return whole;
  const difference = createTwoFilesPatch(smallest, name, rendered.smallest, text, undefined, undefined, { context: 2 });
  return difference.length < text.length ? { path: goldenPath(chart, `${name}.diff`), text: difference } : whole;
}

/** The whole text that a golden file stands for. */
export function readGolden(chart: string, extension: Extension, name: string): string {
  const [whole, difference] = [goldenPath(chart, `${name}.${extension}`), goldenPath(chart, `${name}.diff`)];
  if (!existsSync(difference)) return readFileSync(whole, 'utf8');
  // The test that writes one leaves the other.
  if (existsSync(whole)) throw new Error(`there are two golden files of ${name}: remove the older one`);
  const text = applyPatch(readGolden(chart, extension, smallest), readFileSync(difference, 'utf8'));
  if (text === false) throw new Error(`the golden file of ${name} is not of the present one of ${smallest}`);
  return text;
}
