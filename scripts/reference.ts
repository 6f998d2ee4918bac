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

function section({ commandLine, flags: program }: ProgramManifest): string {
  const rows = Object.entries(program.flags)
    .filter(([, { hidden }]) => hidden !== true)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, flag]) => {
      const status = flag.deprecated === undefined ? '' : `Deprecated: ${flag.deprecated}. `;
      const usage = name === 'feature-gates' ? 'Feature gates, see below.' : cell(flag.usage);
      return `| \`--${name}\` | ${flag.type === '' ? 'bool' : cell(flag.type)} | ${flag.defaultText === '' ? '' : `\`${flag.defaultText}\``} | ${status}${usage} |`;
    });
  const gates = Object.entries(program.gates).map(
    ([name, gate]) => `| \`${name}\` | ${gate.stage} | ${gate.defaultValue} |`,
  );
  const gateTable = gates.length === 0 ? [] : ['', '| Gate | Stage | Default |', '|---|---|---|', ...gates];
  return [
    `## ${commandLine}`,
    '',
    syntaxes[program.syntax],
    '',
    '| Flag | Type | Default | Meaning |',
    '|---|---|---|---|',
    ...rows,
    ...gateTable,
  ].join('\n');
}

const flagsPage = [
  '# Flags',
  '',
  'Generated from the tables of the programs (`npm run generate`). Durations use Go syntax (`1m30s`).',
  '',
  manifests.map(section).join('\n\n'),
  '',
];

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
