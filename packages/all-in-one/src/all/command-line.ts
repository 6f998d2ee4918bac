// SPDX-License-Identifier: Apache-2.0
/**
 * One command line for all controllers, derived from the tables of their programs. Flag F of program P:
 *
 * | F | is given as |
 * |---|---|
 * | belongs to the process | `--F` |
 * | has one owner | `--P-F`, `--F` |
 * | is a default for all its owners | `--P-F`, `--F` |
 * | has several owners | `--P-F`; `--F` is refused |
 *
 * A value comes from the first of these names that was given, in this order, wherever it stands. Then from what P has as default.
 */
import {
  debugExplainFlags,
  endpointFlags,
  eventsFlags,
  type Flag,
  type Flags,
  type Gate,
  gatesFlag,
  intFlag,
  klogFlags,
  leaderElectionFlags,
  loggingFlags,
  rare,
  tracingFlags,
} from '@csi-sidecars/sidecar';
import { ownFlags } from './own-flags.ts';
import { type ControllerName, controllerNames, isSidecar, programs } from './programs.ts';

/** Flags of which a process has one. */
const processFlags: ReadonlySet<string> = new Set([
  ...Object.keys({
    ...loggingFlags,
    ...leaderElectionFlags,
    ...endpointFlags,
    ...eventsFlags,
    ...debugExplainFlags,
    ...tracingFlags,
  }),
  'automaxprocs',
  'check-rights',
  'csi-address',
  'feature-gates',
  'kubeconfig',
  'leader-election-labels',
  'master',
  'metrics-address',
  'version',
]);

/** Unprefixed names that set a default for all owners, and the name that the flag has in each program if it is another one. */
const defaultsForAll: Readonly<Record<string, Partial<Record<ControllerName, string>>>> = {
  'audit-interval': {},
  'default-fstype': {},
  'kube-api-burst': {},
  'kube-api-qps': {},
  resync: { resizer: 'resync-period', snapshotter: 'resync-period' },
  'retry-interval-max': {},
  'retry-interval-start': {},
  timeout: {},
  'worker-threads': {},
};

/** Flags that take the value of another flag of their program if they were not given. The other one has no other meaning here. */
const fallbacks: Partial<Record<ControllerName, Readonly<Record<string, string>>>> = {
  resizer: { 'resize-timeout': 'timeout', 'modify-timeout': 'timeout' },
};

/** Flags that have their prefixed names only: the plain ones belong to others, as they did before these flags existed. */
const prefixedOnly: Partial<Record<ControllerName, ReadonlySet<string>>> = {
  'health-monitor': new Set(['max-entries']),
};

/** Names of upstream's documents for flags of today. */
const aliases: Readonly<Record<string, string>> = { 'attacher-worker-threads': 'attacher-worker-thread' };

export function isProcessFlag(program: ControllerName, flag: string): boolean {
  // The programs of the nodes may have listeners of their own beside that of the process.
  return processFlags.has(flag) && !(flag === 'http-endpoint' && !isSidecar(program));
}

function ownersOf(flag: string): readonly ControllerName[] {
  return controllerNames.filter(
    (name) => Object.hasOwn(programs[name].flags, flag) && prefixedOnly[name]?.has(flag) !== true,
  );
}

/** The names on the command line from which a program's flag gets its value, the strongest first. */
export function namesOf(program: ControllerName, flag: string): readonly [string, ...string[]] {
  if (isProcessFlag(program, flag)) return [flag];
  const prefixed = `${program}-${flag}`;
  const alias = aliases[prefixed];
  const other = fallbacks[program]?.[flag];
  const shared = Object.entries(defaultsForAll).flatMap(([name, others]) =>
    (others[program] ?? name) === flag ? [name] : [],
  );
  const owners = ownersOf(flag);
  const alone = owners.length === 1 && owners[0] === program ? [flag] : [];
  return [
    prefixed,
    ...(alias === undefined ? [] : [alias]),
    ...new Set([...alone, ...shared]),
    ...(other === undefined ? [] : namesOf(program, other)),
  ];
}

export interface ProgramValues {
  readonly values: Readonly<Record<string, unknown>>;
  /** Flags of the program that were given, under any name. */
  readonly given: ReadonlySet<string>;
  /** The name under which a flag of the program was given; its prefixed name if it was not. */
  readonly nameOf: (flag: string) => string;
}

/** The command line as the program would have got it. */
export function valuesOf(
  program: ControllerName,
  values: Readonly<Record<string, unknown>>,
  given: ReadonlySet<string>,
): ProgramValues {
  const { flags } = programs[program];
  const onlyFallbacks = new Set(Object.values(fallbacks[program] ?? {}));
  const source = (flag: string): string | undefined => namesOf(program, flag).find((name) => given.has(name));
  const own: Record<string, unknown> = {};
  const found = new Set<string>();
  for (const [name, flag] of Object.entries(flags)) {
    const from = source(name);
    own[name] = from === undefined ? flag.defaultValue : values[from];
    if (from !== undefined && !onlyFallbacks.has(name)) found.add(name);
  }
  return { values: own, given: found, nameOf: (flag) => source(flag) ?? namesOf(program, flag)[0] };
}

/** Flags of controllers that were given by their prefixed names. */
export function prefixedFlagsOf(program: ControllerName, given: ReadonlySet<string>): readonly string[] {
  return [...given].filter((name) => {
    if (!name.startsWith(`${program}-`)) return false;
    const flag = name.slice(program.length + 1);
    return Object.hasOwn(programs[program].flags, flag) || aliases[`${program}-worker-threads`] === name;
  });
}

export const allGates: Readonly<Record<string, Gate>> = Object.assign(
  {},
  ...controllerNames.map((name) => programs[name].gates),
) as Readonly<Record<string, Gate>>;

export const allFlags: Flags = deriveFlags();

function deriveFlags(): Flags {
  const flags: Record<string, Flag<unknown>> = { ...klogFlags };
  for (const program of controllerNames) {
    for (const [name, flag] of Object.entries(programs[program].flags)) {
      const prefixed = `${program}-${name}`;
      if (isProcessFlag(program, name)) {
        // The wording of the first program, which talks to the API server, and so has all of them.
        flags[name] ??= flag;
        flags[prefixed] ??= refused(flag, `the process has one: use --${name}`);
        continue;
      }
      const own = describedAsHere(program, name, signed(name, flag));
      flags[prefixed] = rare(own);
      const alias = aliases[prefixed];
      if (alias !== undefined) flags[alias] = { ...own, hidden: true };
      if (processFlags.has(name)) continue;
      const owners = ownersOf(name);
      if (!owners.includes(program)) continue;
      if (owners.length === 1) flags[name] ??= rare(own);
      else flags[name] ??= refusedAmong(flag, name, owners);
    }
  }
  // They take the places of names that are refused above.
  for (const [name, others] of Object.entries(defaultsForAll)) flags[name] = defaultFor(name, others);
  return { ...flags, ...ownFlags, 'feature-gates': gatesFlag(allGates) };
}

/** A fallback has another rank here than in the program itself, whose text names its own. */
function describedAsHere(program: ControllerName, name: string, flag: Flag<unknown>): Flag<unknown> {
  const other = fallbacks[program]?.[name];
  if (other === undefined) return flag;
  const what = flag.usage.split(';')[0]!;
  return { ...flag, usage: `${what}. Default: --${program}-${other}, else --${other}.` };
}

/** Upstream's combined program refuses -1 by the name of the flag, and not as a value that cannot be read. */
function signed(name: string, flag: Flag<unknown>): Flag<unknown> {
  return name === 'worker-threads' && flag.type === 'uint' ? intFlag(flag.defaultValue as number, flag.usage) : flag;
}

function defaultFor(name: string, others: Partial<Record<ControllerName, string>>): Flag<unknown> {
  const owned = controllerNames.flatMap((program) => {
    const flag = programs[program].flags[others[program] ?? name];
    return flag === undefined ? [] : [{ program, flag }];
  });
  const [first] = owned;
  if (first === undefined) throw new Error(`no program has the flag ${name}`);
  const defaults = owned.map(({ program, flag }) => `${program} ${flag.defaultText}`);
  const isSame = new Set(owned.map(({ flag }) => flag.defaultText)).size === 1;
  return {
    ...signed(name, first.flag),
    usage: `The default of ${owned.map(({ program }) => `--${program}-${others[program] ?? name}`).join(', ')}.${isSame ? '' : ` Their own defaults: ${defaults.join(', ')}.`}`,
    brief: `${isSame ? 'For all controllers' : 'For all controllers, in place of their own'}; for one: --${first.program}-${others[first.program] ?? name}.`,
    defaultText: isSame ? first.flag.defaultText : '',
  };
}

/** A flag that is known, in order to be refused with a hint. */
function refused(flag: Flag<unknown>, reason: string): Flag<unknown> {
  const { shorthand: _, ...known } = flag;
  return { ...known, hidden: true, parse: () => ({ ok: false, reason }) };
}

function refusedAmong(flag: Flag<unknown>, name: string, owners: readonly ControllerName[]): Flag<unknown> {
  const offered = owners.map((owner) => `--${owner}-${name}`).join(' or ');
  return refused(flag, `several controllers have it: use ${offered}`);
}
