// SPDX-License-Identifier: Apache-2.0
/** Writes docs/reference/{flags,rbac,drivers}.md from the programs' own tables. `npm run check` fails when a page is not up to date. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { leaseRules, type UsedRule } from '@csi-sidecars/runtime';
import { leaseName } from '@csi-sidecars/runtime/internal';
import { manifests } from './manifests.ts';
import type { ProgramManifest } from '@csi-sidecars/sidecar';

const cell = (text: string): string => text.split('\n')[0]!.replaceAll('|', '\\|');

const syntaxes: Readonly<Record<ProgramManifest['flags']['syntax'], string>> = {
  go: "Syntax: Go's `flag` (one dash or two, `--flag=value` or `--flag value`, booleans only with `=`).",
  pflag: 'Syntax: pflag (two dashes; `-v` is the only shorthand).',
  mixed: 'Syntax: pflag (`-v` is the only shorthand); long names may have one dash.',
};

type Row = readonly [name: string, cells: string];

/** Flags that are the same in several programs are listed once, for all of them. */
const sharedFrom = 3;

function rowsOf({ flags: program }: ProgramManifest): readonly Row[] {
  return Object.entries(program.flags)
    .filter(([, { hidden }]) => hidden !== true)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, flag]) => {
      const status = flag.deprecated === undefined ? '' : `Deprecated: ${flag.deprecated}. `;
      const usage = name === 'feature-gates' ? 'Feature gates: the table of the program.' : headOf(cell(flag.usage));
      const type = flag.type === '' ? 'bool' : cell(flag.type);
      const text = flag.defaultText === '' ? '' : `\`${flag.defaultText}\``;
      return [name, `| \`--${name}\` | ${type} | ${text} | ${status}${usage} |`];
    });
}

/** The combined program takes its flags from those of the others. */
const single = manifests.filter(({ name, commandLine }) => name !== 'csi-sidecars' || commandLine.includes(' '));

const prefix = /^(?:attacher|provisioner|resizer|snapshotter|livenessprobe|node-driver-registrar)-/;
const longestCell = 160;

/** A table is read by its columns: what does not fit into a cell is left to a note. */
const headOf = (usage: string): string =>
  usage.length > longestCell ? `${sentencesOf(usage)[0]} [Note](#notes).` : usage;
const sentencesOf = (usage: string): readonly string[] => usage.split(/(?<=\.) (?=[A-Z])/);

const notes = manifests
  .flatMap(({ flags }) => Object.entries(flags.flags))
  .filter(([name, { usage, hidden }]) => hidden !== true && cell(usage).length > longestCell && !prefix.test(name))
  .map(([name, { usage }]) => `- \`--${name}\`: ${sentencesOf(cell(usage)).slice(1).join(' ')}`);

const flagTable = (lines: readonly string[], more = '') => [
  `| Flag | Type | Default | Meaning |${more === '' ? '' : ` ${more} |`}`,
  `|---|---|---|---|${more === '' ? '' : '---|'}`,
  ...lines,
];

const owners = new Map<string, string[]>();
for (const { commandLine, ...manifest } of single)
  for (const [, line] of rowsOf({ commandLine, ...manifest }))
    owners.set(line, [...(owners.get(line) ?? []), commandLine]);
const isShared = (line: string) => (owners.get(line) ?? []).length >= sharedFrom;
const known = new Set(single.flatMap((manifest) => rowsOf(manifest).map(([name]) => name)));

function section(manifest: ProgramManifest): string {
  const { commandLine, flags: program } = manifest;
  const isCombined = !single.some((each) => each.commandLine === commandLine);
  const rows = rowsOf(manifest).filter(([name, line]) =>
    isCombined ? !known.has(name.replace(prefix, '')) || (known.has(name) && isDefaultOfMany(line)) : !isShared(line),
  );
  const gates = Object.entries(program.gates).map(
    ([name, gate]) => `| \`${name}\` | ${gate.stage} | ${gate.defaultValue} |`,
  );
  const gateTable = gates.length === 0 ? [] : ['', '| Gate | Stage | Default |', '|---|---|---|', ...gates];
  return [
    `## ${commandLine}`,
    '',
    syntaxes[program.syntax],
    ...(isCombined ? ['', combined] : []),
    '',
    ...flagTable(rows.map(([, line]) => line)),
    ...(isCombined ? [] : gateTable),
  ].join('\n');
}

const isDefaultOfMany = (line: string) => line.includes('| The default of --');
const combined =
  'It has the flags and gates of the programs that it runs. A flag F of the program P is given as `--P-F` (`--attacher-timeout`), or as `--F` where it has one\n' +
  'owner or belongs to the process ([rules](../behaviour/all-in-one.md#flags)). `csi-sidecars --help=all` lists all. Those that no other program has, or that are a default for several:';

const flagsPage = [
  '# Flags',
  '',
  'Generated from the tables of the programs (`npm run generate`). Durations use Go syntax (`1m30s`).',
  '',
  '## Several programs',
  '',
  ...flagTable(
    [...owners]
      .filter(([line]) => isShared(line))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([line, of]) => `${line} ${shortOf(of)} |`),
    'Programs',
  ),
  '',
  manifests.map(section).join('\n\n'),
  '',
  '## Notes',
  '',
  ...new Set(notes),
  '',
];

/** The longer of the two lists is not printed: all programs but these. */
function shortOf(of: readonly string[]): string {
  const others = single.filter(({ commandLine }) => !of.includes(commandLine)).map(({ commandLine }) => commandLine);
  if (others.length === 0) return 'all';
  return others.length < of.length ? `all but ${others.join(', ')}` : of.join(', ');
}

const ruleTable = (title: string, rules: readonly UsedRule[]): readonly string[] => [
  `## ${title}`,
  '',
  '| API group | Resources | Verbs | When |',
  '|---|---|---|---|',
  ...rules.map(({ apiGroups, resources, verbs, when = 'always' }) =>
    ['', apiGroups.map((group) => group || 'core').join(', '), resources.join(', '), verbs.join(', '), when, '']
      .join(' | ')
      .trim(),
  ),
  '',
];

const rbacPage = [
  '# Permissions',
  '',
  'Generated from the tables of the programs (`npm run generate`): the permissions that each program uses, and no others.',
  '',
  "Upstream's stock roles grant all of it except four things: secrets, which they leave to the administrator; VolumeAttributesClasses in",
  'the role of csi-provisioner, without which claims that name such a class are not provisioned; events in the role of csi-attacher,',
  'without which only events about the election are missing; and nodes in the role of snapshot-controller, which distributed snapshotting',
  'needs, and which they leave commented out.',
  '',
  ...manifests
    .filter(({ rules }) => rules.length > 0)
    .flatMap(({ name, commandLine, rules, namespaceRules = [] }) => [
      ...ruleTable(`${commandLine}: ClusterRole`, rules),
      ...(namespaceRules.length === 0 ? [] : ruleTable(`${name}: Role in the namespace of its Pod`, namespaceRules)),
    ]),
  ...ruleTable('Leader election: Role in the namespace of the Lease', leaseRules),
];

const driversPage = [
  '# What a driver must be able to do',
  '',
  'Generated from the tables of the programs (`npm run generate`): the capabilities that each program asks a driver for at its start,',
  'and the Lease under which it works, here for a driver named `d.example.com`.',
  '',
  ...manifests
    .filter(({ driverNeeds }) => driverNeeds.length > 0)
    .flatMap(({ name, lockName, driverNeeds }) => [
      `## ${name}`,
      '',
      ...(lockName === undefined ? [] : [`Lease: \`${leaseName(lockName('d.example.com'))}\``, '']),
      '| Capability | Without it |',
      '|---|---|',
      ...driverNeeds.map(({ capability, without }) => `| \`${capability}\` | ${without} |`),
      '',
    ]),
];

const folder = join(import.meta.dirname, '..', 'docs', 'reference');
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'flags.md'), flagsPage.join('\n'));
writeFileSync(join(folder, 'rbac.md'), rbacPage.join('\n'));
writeFileSync(join(folder, 'drivers.md'), driversPage.join('\n'));
