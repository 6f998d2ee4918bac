// SPDX-License-Identifier: Apache-2.0
/** Settings as a file, with sizes as strings of digits: a test gives the program the same settings as the model. */
import { formatRecord, parseRecord } from '../disk/record-files.ts';
import { defaultSettings, type Settings } from '../core/settings.ts';

export function formatSettings(settings: Partial<Settings>): string {
  return formatRecord(settings);
}

/** A misspelt name would have no effect, so it is refused. */
export function parseSettings(text: string): Partial<Settings> {
  const settings = parseRecord<Partial<Settings>>(text);
  const unknown = Object.keys(settings).filter((name) => !Object.hasOwn(defaultSettings, name));
  if (unknown.length > 0) throw new Error(`unknown settings: ${unknown.join(', ')}`);
  return settings;
}
