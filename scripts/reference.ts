// SPDX-License-Identifier: Apache-2.0
/**
 * Writes docs/reference/{flags,rbac,drivers,doctor}.md, and the tables of docs/behaviour/rights.md and docs/troubleshooting.md, from the programs'
 * own tables. `npm run check` fails when a page is not up to date.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { leaseRules, mergedRules, type UsedRule } from '@csi-sidecars/runtime';
import { leaseName } from '@csi-sidecars/runtime/internal';
import { clusterOf, explain, namespace as exampleNamespace } from '../packages/explain/testing/cluster.ts';
import { examples } from '../packages/explain/testing/examples.ts';
import { doctorPage } from './doctor-page.ts';
import { manifests } from './manifests.ts';
import type { ProgramManifest } from '@csi-sidecars/sidecar';

const firstLine = (text: string): string => text.split('\n')[0]!;

const syntaxes: Readonly<Record<ProgramManifest['flags']['syntax'], string>> = {
  go: "Syntax: Go's `flag`.",
  pflag: 'Syntax: pflag.',
  mixed: 'Syntax: pflag; long names may have one dash.',
};

interface Row {
  readonly name: string;
  /** The flag with its type, which bool has not, as `--help` prints it. */
  readonly flag: string;
  /** Default and meaning. */
  readonly rest: string;
}

/** Flags that are the same in several programs are listed once, for all of them. */
const sharedFrom = 3;

function rowsOf({ flags: program }: ProgramManifest): readonly Row[] {
  return Object.entries(program.flags)
    .filter(([, { hidden }]) => hidden !== true)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, flag]) => {
      const status = flag.deprecated === undefined ? '' : `Deprecated: ${flag.deprecated}. `;
      const usage = name === 'feature-gates' ? 'Feature gates: those of the program.' : firstLine(flag.usage);
      const type = flag.type === '' ? '' : ` ${flag.type}`;
      const text = flag.defaultText === '' ? ':' : `: \`${flag.defaultText}\`.`;
      return { name, flag: `\`--${name}${type}\``, rest: `${text} ${status}${usage}` };
    });
}

const lineOf = ({ flag, rest }: Row): string => `${flag}${rest}`;

/** The combined program takes its flags from those of the others. */
const single = manifests.filter(({ name, commandLine }) => name !== 'csi-sidecars' || commandLine.includes(' '));

const prefix = /^(?:attacher|health-monitor|provisioner|resizer|snapshotter|livenessprobe|node-driver-registrar)-/;

/** Flags that have default, meaning and programs in common are one entry. */
function flagList(rows: readonly Row[], programsOf?: (row: Row) => string): readonly string[] {
  const flags = new Map<string, string[]>();
  for (const row of rows) {
    const end = programsOf === undefined ? row.rest : `${row.rest} (${programsOf(row)})`;
    flags.set(end, [...(flags.get(end) ?? []), row.flag]);
  }
  return [...flags].map(([end, names]) => `- ${names.join(', ')}${end}`);
}

const owners = new Map<string, { readonly row: Row; readonly programs: string[] }>();
for (const manifest of single)
  for (const row of rowsOf(manifest)) {
    const owner = owners.get(lineOf(row)) ?? { row, programs: [] };
    owner.programs.push(manifest.commandLine);
    owners.set(lineOf(row), owner);
  }
const ownersOf = (row: Row): readonly string[] => owners.get(lineOf(row))?.programs ?? [];
const isShared = (row: Row): boolean => ownersOf(row).length >= sharedFrom;
const known = new Set(single.flatMap((manifest) => rowsOf(manifest).map(({ name }) => name)));

function section(manifest: ProgramManifest): string {
  const { commandLine, flags: program } = manifest;
  const isCombined = !single.some((each) => each.commandLine === commandLine);
  const rows = rowsOf(manifest).filter((row) =>
    isCombined ? !known.has(row.name.replace(prefix, '')) && !isDefaultOfMany(row) : !isShared(row),
  );
  const isListedBefore = (row: Row): boolean => (ownersOf(row)[0] ?? commandLine) !== commandLine;
  const before = new Map<string, string[]>();
  for (const row of rows.filter(isListedBefore))
    before.set(ownersOf(row)[0]!, [...(before.get(ownersOf(row)[0]!) ?? []), `\`--${row.name}\``]);
  const gates = Object.entries(program.gates).map(
    ([name, { stage, defaultValue }]) => `\`${name}\` (${stage}, ${defaultValue})`,
  );
  return [
    `## ${commandLine}`,
    '',
    syntaxes[program.syntax],
    ...(isCombined ? ['', combined(program)] : []),
    '',
    ...[...before].flatMap(([program, names]) => [`As in ${program}: ${names.join(', ')}.`, '']),
    ...flagList(rows.filter((row) => !isListedBefore(row))),
    ...(isCombined || gates.length === 0 ? [] : ['', `Gates: ${gates.join(', ')}.`]),
  ].join('\n');
}

const isDefaultOfMany = ({ rest }: Row): boolean => /[:.] The default of --/.test(rest);

/** Flags that are a default for several programs: those whose names differ are written out. */
const defaultsOf = ({ flags }: ProgramManifest['flags']): readonly string[] =>
  Object.entries(flags)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, { usage }]) => {
      const [, list = ''] = /^The default of (--[^.]*)\./.exec(usage) ?? [];
      const targets = list.split(', ').filter((target) => !target.endsWith(`-${name}`));
      if (list === '') return [];
      return targets.length === 0 ? [`\`--${name}\``] : [`\`--${name}\` (${list})`];
    });

const combined = (program: ProgramManifest['flags']): string =>
  [
    'It has the flags and gates of the programs that it runs. A flag F of the program P is given as `--P-F` (`--attacher-timeout`), or as `--F` where it has one',
    'owner or belongs to the process ([rules](../behaviour/all-in-one.md#flags)). `csi-sidecars --help=all` lists all.',
    '',
    `A default for all that have the flag, unless it is given for one of them: ${defaultsOf(program).join(', ')}.`,
    '',
    'Those that no other program has:',
  ].join('\n');

const controllers = single
  .filter(({ flags }) => 'leader-election' in flags.flags)
  .map(({ commandLine }) => commandLine);
const shared = [...owners.values()].map(({ row }) => row).filter(isShared);

const flagsPage = [
  '# Flags',
  '',
  "Generated from the tables of the programs (`npm run generate`). A flag without a type is bool. Durations are Go's (`1m30s`).",
  '',
  "Go's `flag` takes one dash or two, `--flag=value` or `--flag value`, and booleans only with `=`. pflag takes two dashes; `-v` is the only shorthand.",
  '',
  '## Several programs',
  '',
  `Controllers: ${controllers.join(', ')}.`,
  '',
  ...flagList(
    shared.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    (row) => shortOf(ownersOf(row)),
  ),
  '',
  manifests.map(section).join('\n\n'),
  '',
];

/** The shortest way to say it: the list, all but some, or the controllers and some. */
function shortOf(of: readonly string[]): string {
  const without = (some: readonly string[]): string => (some.length === 0 ? '' : ` but ${some.join(', ')}`);
  const missing = (all: readonly string[]): readonly string[] => all.filter((name) => !of.includes(name));
  const others = of.filter((name) => !controllers.includes(name));
  const controllersAnd = [`controllers${without(missing(controllers))}`, ...others].join('; ');
  const ways = [of.join(', '), `all${without(missing(single.map(({ commandLine }) => commandLine)))}`, controllersAnd];
  return ways.toSorted((a, b) => a.length - b.length)[0]!;
}

/** As `kubectl auth can-i --list` names it: `volumeattachments.storage.k8s.io/status`. */
const resourceName = (group: string, resource: string): string =>
  `\`${group === '' ? resource : resource.replace(/(?=\/)|$/, `.${group}`)}\``;

/** Rules with the same verbs and the same condition are one line. */
function ruleTable(title: string, rules: readonly UsedRule[]): readonly string[] {
  const lines = new Map<string, string[]>();
  for (const { apiGroups, resources, verbs, when } of mergedRules(rules)) {
    const end = `${verbs.join(', ')} | ${when?.text ?? 'always'} |`;
    const names = apiGroups.flatMap((group) => resources.map((resource) => resourceName(group, resource)));
    lines.set(end, [...(lines.get(end) ?? []), ...names]);
  }
  const rows = [...lines].map(([end, names]) => `| ${names.join(', ')} | ${end}`);
  return [`## ${title}`, '', '| Resources | Verbs | When |', '|---|---|---|', ...rows, ''];
}

const rbacPage = [
  '# Permissions',
  '',
  'Generated from the tables of the programs (`npm run generate`): the permissions that each program uses, and no others.',
  '',
  "Upstream's stock roles grant all of it except secrets, which they leave to the administrator; VolumeAttributesClasses in the role of",
  'csi-provisioner; events about the election in the role of csi-attacher; and nodes in the role of snapshot-controller, which distributed',
  'snapshotting needs. Each program [reports](../behaviour/rights.md) at its start which it lacks.',
  '',
  ...manifests
    .filter(({ rules }) => rules.length > 0)
    .flatMap(({ name, commandLine, rules, namespaceRules = [] }) => [
      ...ruleTable(`${commandLine}: ClusterRole`, rules),
      ...(namespaceRules.length === 0 ? [] : ruleTable(`${name}: Role in the namespace of its Pod`, namespaceRules)),
    ]),
  ...ruleTable('Leader election: Role in the namespace of the Lease', leaseRules),
];

/** What follows if a right is missing; rules with the same consequence are one line. */
function consequences(): readonly string[] {
  const tables = manifests
    .filter(({ kind }) => kind === 'controller')
    .map(({ name, rules, namespaceRules = [] }) => ({ name, rules: [...rules, ...namespaceRules] }));
  return [...tables, { name: 'all, in the namespace of the Lease', rules: leaseRules }].flatMap(({ name, rules }) => {
    const alike = Map.groupBy(rules, ({ without = '', when }) => JSON.stringify([without, when?.facts === 'unknown']));
    return [...alike.values()].map((same) => {
      const { without = '', when } = same[0]!;
      const names = same.map(({ apiGroups, resources, verbs }) => {
        const found = apiGroups.flatMap((group) => resources.map((resource) => resourceName(group, resource)));
        return `${verbs.join(', ')} ${found.join(', ')}`;
      });
      return `| ${name} | ${names.join('; ')} | ${without} | ${when?.facts === 'unknown' ? 'no' : 'yes'} |`;
    });
  });
}

const rightsPage = join(import.meta.dirname, '..', 'docs', 'behaviour', 'rights.md');
replaceTable(rightsPage, 'consequences', [
  '| Program | Right | Without it | Looked at |',
  '|---|---|---|---|',
  ...consequences(),
]);

/** Between two comments of that name. */
function replaceTable(path: string, name: string, lines: readonly string[]): void {
  const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
  const [before = '', after = ''] = readFileSync(path, 'utf8').split(new RegExp(`${begin}[^]*${end}`));
  writeFileSync(path, `${before}${begin}\n\n${lines.join('\n')}\n\n${end}${after}`);
}

/** What explain prints about the examples that have a symptom: the sentences of the page are those of the program. */
async function symptoms(): Promise<readonly string[]> {
  const rows = [];
  for (const { symptom, subject = 'pvc/data', arrange } of examples) {
    if (symptom === undefined) continue;
    const host = clusterOf([]);
    arrange(host);
    const { document } = await explain(host, [subject, '-n', exampleNamespace]);
    const [change] = document.changes;
    const goesOn =
      document.retry?.will === 'onChange' ? `it goes on ${document.retry.because}` : 'it goes on by itself';
    const what = change?.what ?? (document.exitCode === 3 ? goesOn : '');
    const look = document.next === null ? '' : `\`${document.next.command.join(' ')}\``;
    // What waits for nothing is shown because of its risk.
    const shown = document.exitCode === 0 ? `risk: ${document.risk.sentence}` : document.sentence;
    const sentence = shown.replaceAll('|', '\\|');
    rows.push([
      Number(document.row.slice(1)),
      `| ${symptom} | ${document.row}: ${sentence} | ${[what, look].filter(Boolean).join('; ')} |`,
    ] as const);
  }
  return rows.toSorted(([left], [right]) => left - right).map(([, row]) => row);
}

const troubleshootingPage = join(import.meta.dirname, '..', 'docs', 'troubleshooting.md');
replaceTable(troubleshootingPage, 'symptoms', [
  '| Symptom | It prints | What to do |',
  '|---|---|---|',
  ...(await symptoms()),
]);

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
      ...[...Map.groupBy(driverNeeds, ({ without }) => without)].map(
        ([without, needs]) => `| ${needs.map(({ capability }) => `\`${capability}\``).join(', ')} | ${without} |`,
      ),
      '',
    ]),
];

const folder = join(import.meta.dirname, '..', 'docs', 'reference');
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'flags.md'), flagsPage.join('\n'));
writeFileSync(join(folder, 'rbac.md'), rbacPage.join('\n'));
writeFileSync(join(folder, 'drivers.md'), driversPage.join('\n'));
writeFileSync(join(folder, 'doctor.md'), doctorPage());
