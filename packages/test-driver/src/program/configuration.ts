// SPDX-License-Identifier: Apache-2.0
/** Turns flags into the configuration of the program. Every mistake is found here, before anything is changed. */
import type { StringMap } from '../core/records.ts';
import {
  allCapabilities,
  defaultSettings,
  type Capabilities,
  type NodeSettings,
  type Pool,
  type Settings,
} from '../core/settings.ts';
import type { Durability } from '../disk/files.ts';
import type { FlagName, Flags } from './flags.ts';

export interface Configuration {
  readonly settings: Settings;
  readonly stateFolder: string;
  readonly durability: Durability;
  readonly mounts: 'kernel' | 'links' | 'auto';
  /** A socket and the node it belongs to; the first is the driver's own. */
  readonly endpoints: readonly { readonly path: string; readonly nodeId: string }[];
  readonly journal: { readonly path: string | undefined; readonly secrets: 'kept' | 'stripped' };
  readonly faultSocket: string | undefined;
}

/** `overrides`: the content of the settings file. */
export function configure(flags: Flags, overrides: Partial<Settings> = {}): Configuration {
  const text = (name: FlagName): string => flags[name][0] ?? '';
  const nodeId = text('nodeid');
  const name = text('drivername');
  if (nodeId === '') throw new Error('--nodeid is required');
  if (name === '') throw new Error('--drivername is empty');
  const mounts = text('mounts');
  if (mounts !== 'kernel' && mounts !== 'links' && mounts !== 'auto') {
    throw new Error('--mounts is not kernel, links or auto');
  }
  const own: NodeSettings = {
    id: nodeId,
    segments: withDefault(pairs('topology', flags.topology), name, nodeId),
    maxVolumes: count('max-volumes-per-node', text('max-volumes-per-node')),
  };
  const modifiable = flags['accepted-mutable-parameter-names'].flatMap((value) => value.split(','));
  const endpoints = Object.entries(pairs('node-endpoint', flags['node-endpoint'])).map(([id, endpoint]) => ({
    path: socketPath(endpoint),
    nodeId: id,
  }));
  const settings: Settings = {
    ...defaultSettings,
    name,
    vendorVersion: text('vendor-version'),
    capabilities: parseCapabilities(flags),
    nodes: [own, ...flags.node.map((value) => parseNode(value, name))],
    pools: flags.capacity.map(parsePool),
    defaultVolumeBytes: parseQuantity(text('default-volume-size')),
    maxVolumeBytes: parseQuantity(text('max-volume-size')),
    mutableParameters: modifiable.length === 0 ? 'any' : modifiable,
    snapshotProcessingMs: count('snapshot-processing-ms', text('snapshot-processing-ms')),
    publishContext: pairs('publish-context', flags['publish-context']),
    ...overrides,
  };
  return {
    settings,
    stateFolder: text('statedir'),
    durability: text('fsync') === 'true' ? 'machine' : 'process',
    mounts,
    endpoints: [{ path: socketPath(text('endpoint')), nodeId }, ...endpoints],
    journal: { path: text('journal') || undefined, secrets: text('journal-secrets') === 'true' ? 'kept' : 'stripped' },
    faultSocket: text('fault-socket') === '' ? undefined : socketPath(text('fault-socket')),
  };
}

/** `unix:///path`, `unix:path` or a bare path. */
function socketPath(endpoint: string): string {
  const path = endpoint.replace(/^unix:(\/\/)?/, '');
  if (path === '' || path.includes('://')) throw new Error(`${endpoint} is not a unix socket`);
  return path;
}

function parseNode(value: string, driver: string): NodeSettings {
  const { id = '', 'max-volumes': maxVolumes = '0', ...segments } = pairs('node', value.split(','));
  if (id === '') throw new Error(`--node ${value} has no id`);
  return { id, segments: withDefault(segments, driver, id), maxVolumes: count('node', maxVolumes) };
}

function withDefault(segments: StringMap, driver: string, nodeId: string): StringMap {
  return Object.keys(segments).length > 0 ? segments : { [`topology.${driver}/node`]: nodeId };
}

function parsePool(value: string): Pool {
  const match = /^([^@=]+)(?:@([^:]+):([^=]+))?=(.+)$/.exec(value);
  if (match === null) throw new Error(`--capacity ${value} is not <kind>[@<key>:<value>]=<quantity>`);
  const [, kind = '', key, segment = '', quantity = ''] = match;
  return { kind, totalBytes: parseQuantity(quantity), segments: key === undefined ? undefined : { [key]: segment } };
}

const attachCapabilities: readonly string[] = [
  'PUBLISH_UNPUBLISH_VOLUME',
  'PUBLISH_READONLY',
  'LIST_VOLUMES_PUBLISHED_NODES',
];

function parseCapabilities(flags: Flags): Capabilities {
  const without = new Set([
    ...flags.without,
    ...(flags['enable-attach'][0] === 'true' ? [] : attachCapabilities.map((type) => `controller.${type}`)),
    ...(flags['enable-topology'][0] === 'true' ? [] : ['plugin.VOLUME_ACCESSIBILITY_CONSTRAINTS']),
  ]);
  const known = Object.entries(allCapabilities).flatMap(([service, types]: [string, readonly (string | number)[]]) =>
    types.map((type) => `${service}.${type}`),
  );
  const unknown = [
    ...flags.without.filter((name) => !known.includes(name)),
    ...flags.with.filter((name) => !Object.hasOwn(allCapabilities, name.split('.')[0]!)),
  ];
  if (unknown.length > 0) throw new Error(`there is no capability ${unknown.join(', ')}`);
  const kept = Object.entries(allCapabilities).map(([service, types]: [string, readonly (string | number)[]]) => {
    const added = flags.with.flatMap((name) =>
      name.startsWith(`${service}.`) ? [name.slice(service.length + 1)] : [],
    );
    const named = types.filter((type) => !without.has(`${service}.${type}`));
    return [service, [...named, ...added.map((type) => (/^\d+$/.test(type) ? Number(type) : type))]];
  });
  return Object.fromEntries(kept) as Capabilities;
}

function pairs(flag: string, values: readonly string[]): StringMap {
  return Object.fromEntries(
    values.map((value) => {
      const at = value.indexOf('=');
      if (at < 1) throw new Error(`--${flag}: ${value} is not key=value`);
      return [value.slice(0, at), value.slice(at + 1)];
    }),
  );
}

function count(flag: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`--${flag}: ${text} is not a number`);
  return Number(text);
}

const units: Readonly<Record<string, bigint>> = {
  '': 1n,
  Ki: 2n ** 10n,
  Mi: 2n ** 20n,
  Gi: 2n ** 30n,
  Ti: 2n ** 40n,
  k: 10n ** 3n,
  M: 10n ** 6n,
  G: 10n ** 9n,
  T: 10n ** 12n,
};

function parseQuantity(text: string): bigint {
  const match = /^(\d+)([A-Za-z]*)$/.exec(text);
  const unit = units[match?.[2] ?? 'none'];
  if (match?.[1] === undefined || unit === undefined) throw new Error(`${text} is not a quantity`);
  return BigInt(match[1]) * unit;
}
