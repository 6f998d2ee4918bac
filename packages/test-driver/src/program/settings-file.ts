// SPDX-License-Identifier: Apache-2.0
/** Settings as a file, with sizes as strings of digits: a test gives the program the same settings as the model. */
import { formatRecord, parseRecord } from '../disk/record-files.ts';
import { allCapabilities, defaultSettings, type NodeSettings, type Pool, type Settings } from '../core/settings.ts';

export function formatSettings(settings: Partial<Settings>): string {
  return formatRecord(settings);
}

/** A misspelt name would have no effect, so it is refused, at any depth. */
export function parseSettings(text: string): Partial<Settings> {
  const settings = parseRecord<Partial<Settings>>(text);
  const { capabilities = {}, nodes = [], pools = [] } = settings;
  const unknown = [
    ...unknownIn(settings, knownNames),
    ...unknownIn(capabilities, allCapabilities).map((name) => `capabilities.${name}`),
    ...(nodes === 'any' ? [] : nodes).flatMap((node) => unknownIn(node, nodeNames).map((name) => `nodes.${name}`)),
    ...pools.flatMap((pool) => unknownIn(pool, poolNames).map((name) => `pools.${name}`)),
  ];
  if (unknown.length > 0) throw new Error(`unknown settings: ${unknown.join(', ')}`);
  return settings;
}

type Names<T> = Readonly<Record<keyof T, unknown>>;

const knownNames: Names<Settings> = defaultSettings;
const nodeNames: Names<NodeSettings> = { id: '', segments: {}, maxVolumes: 0 };
const poolNames: Names<Pool> = { kind: '', totalBytes: 0n, segments: undefined };

function unknownIn(object: object, known: object): readonly string[] {
  return Object.keys(object).filter((name) => !Object.hasOwn(known, name));
}
