// SPDX-License-Identifier: Apache-2.0
/**
 * The command line, similar to that of the hostpath driver: Go's syntax (one or two dashes, `=` or the next argument,
 * booleans without value), and `--help` that prints the table below.
 */
export interface FlagHelp {
  readonly kind: 'text' | 'list' | 'bool';
  readonly default: string;
  readonly help: string;
}

export type FlagName =
  | 'endpoint'
  | 'drivername'
  | 'vendor-version'
  | 'nodeid'
  | 'topology'
  | 'max-volumes-per-node'
  | 'node'
  | 'node-endpoint'
  | 'statedir'
  | 'fsync'
  | 'mounts'
  | 'capacity'
  | 'default-volume-size'
  | 'max-volume-size'
  | 'enable-attach'
  | 'enable-topology'
  | 'without'
  | 'with'
  | 'accepted-mutable-parameter-names'
  | 'snapshot-processing-ms'
  | 'publish-context'
  | 'journal'
  | 'journal-secrets'
  | 'fault-socket'
  | 'settings'
  | 'help';

export const flagTable: Readonly<Record<FlagName, FlagHelp>> = {
  endpoint: { kind: 'text', default: 'unix:///tmp/csi.sock', help: 'CSI socket' },
  drivername: { kind: 'text', default: 'test.csi.example.com', help: 'name in GetPluginInfo' },
  'vendor-version': { kind: 'text', default: '0.1.0', help: 'version in GetPluginInfo' },
  nodeid: { kind: 'text', default: '', help: 'id of the node behind --endpoint; required' },
  topology: {
    kind: 'list',
    default: '',
    help: 'segment key=value of that node; default: topology.<drivername>/node=<id>',
  },
  'max-volumes-per-node': { kind: 'text', default: '0', help: 'attach limit of that node; 0: none' },
  node: {
    kind: 'list',
    default: '',
    help: 'another node: id=<id>[,max-volumes=<n>][,<topology key>=<value>...]',
  },
  'node-endpoint': { kind: 'list', default: '', help: 'CSI socket of another node: <id>=<socket>' },
  statedir: { kind: 'text', default: '/csi-data-dir', help: 'volumes, snapshots and records' },
  fsync: { kind: 'bool', default: 'true', help: 'flush to disk; without it, records survive kill -9 only' },
  mounts: { kind: 'text', default: 'auto', help: 'kernel (needs root), links, or auto' },
  capacity: { kind: 'list', default: '', help: 'finite storage <kind>[@<topology key>:<value>]=<quantity>' },
  'default-volume-size': { kind: 'text', default: '1Gi', help: 'size of volumes that ask for none' },
  'max-volume-size': { kind: 'text', default: '1Ti', help: 'larger is OUT_OF_RANGE' },
  'enable-attach': {
    kind: 'bool',
    default: 'true',
    help: 'controller.PUBLISH_UNPUBLISH_VOLUME and capabilities that need it',
  },
  'enable-topology': { kind: 'bool', default: 'true', help: 'plugin.VOLUME_ACCESSIBILITY_CONSTRAINTS' },
  without: { kind: 'list', default: '', help: 'a capability to leave out, such as controller.LIST_SNAPSHOTS' },
  with: { kind: 'list', default: '', help: 'a capability to add; a number adds an unknown one' },
  'accepted-mutable-parameter-names': { kind: 'list', default: '', help: 'keys that may be modified; default: all' },
  'snapshot-processing-ms': { kind: 'text', default: '0', help: 'how long a snapshot is not ready' },
  'publish-context': { kind: 'list', default: '', help: 'key=value added to every publish context' },
  journal: { kind: 'text', default: '', help: 'file of the record of calls; empty: <statedir>/journal.jsonl' },
  'journal-secrets': { kind: 'bool', default: 'false', help: 'keep the values of secrets in it' },
  'fault-socket': { kind: 'text', default: '', help: 'socket of the control interface; empty: none' },
  settings: { kind: 'text', default: '', help: 'JSON file that overrides the flags above' },
  help: { kind: 'bool', default: 'false', help: 'print this' },
};

export type Flags = Readonly<Record<FlagName, readonly string[]>>;

/** Every flag with its values, defaults included. A list is given by repeating its flag; values are never split. */
export function parseFlags(args: readonly string[]): Flags {
  const given = new Map<FlagName, string[]>();
  for (let index = 0; index < args.length; index += 1) {
    const match = /^--?([^=]+)(?:=(.*))?$/s.exec(args[index]!);
    const name = match?.[1];
    if (match === null || name === undefined || !isFlag(name)) throw new Error(`unknown argument ${args[index]}`);
    const { kind } = flagTable[name];
    const value = match[2] ?? (kind === 'bool' ? 'true' : args[(index += 1)]);
    if (value === undefined) throw new Error(`flag needs an argument: --${name}`);
    if (kind === 'bool' && value !== 'true' && value !== 'false') throw new Error(`--${name} is not true or false`);
    given.set(name, kind === 'list' ? [...(given.get(name) ?? []), value] : [value]);
  }
  const names = Object.keys(flagTable) as FlagName[];
  return Object.fromEntries(names.map((name) => [name, given.get(name) ?? defaultOf(name)])) as unknown as Flags;
}

function isFlag(name: string): name is FlagName {
  return Object.hasOwn(flagTable, name);
}

function defaultOf(name: FlagName): readonly string[] {
  const { kind, default: value } = flagTable[name];
  return kind === 'list' && value === '' ? [] : [value];
}

export function usage(): string {
  return Object.entries(flagTable)
    .map(([name, { default: value, help }]) => `  --${name}\t${help}${value === '' ? '' : ` (default ${value})`}`)
    .join('\n');
}
