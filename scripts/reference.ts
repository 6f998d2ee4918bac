// SPDX-License-Identifier: Apache-2.0
/** Writes docs/reference/{flags,rbac}.md from the programs' own tables. `npm run check` fails when a page is not up to date. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
// Relative on purpose: the tables are not part of the packages' doors.
import { attacherProgram } from '../packages/attacher/src/flags.ts';
import { nodeProgram } from '../packages/all-in-one/src/node/flags.ts';
import { livenessprobeProgram } from '../packages/livenessprobe/src/flags.ts';
import { nodeDriverRegistrarProgram } from '../packages/node-driver-registrar/src/flags.ts';
import { provisionerProgram } from '../packages/provisioner/src/flags.ts';
import { resizerProgram } from '../packages/resizer/src/flags.ts';
import { clusterRules as attacherRules } from '@csi-sidecars/attacher';
import { clusterRules as provisionerRules } from '@csi-sidecars/provisioner';
import { clusterRules as resizerRules } from '@csi-sidecars/resizer';
import { leaseRules, type UsedRule } from '@csi-sidecars/runtime';
import { snapshotControllerProgram, snapshotterProgram } from '@csi-sidecars/sidecar';
import type { Flags, Gate } from '@csi-sidecars/sidecar';

const programs: readonly {
  readonly name: string;
  readonly syntax: 'go' | 'pflag';
  readonly flags: Flags;
  readonly gates: Readonly<Record<string, Gate>>;
}[] = [
  provisionerProgram,
  attacherProgram,
  resizerProgram,
  snapshotterProgram,
  snapshotControllerProgram,
  nodeDriverRegistrarProgram,
  livenessprobeProgram,
  { ...nodeProgram, name: 'csi-sidecars node' },
].map(({ name, syntax, flags, gates }) => ({ name, syntax, flags: flags as Flags, gates }));

const cell = (text: string): string => text.split('\n')[0]!.replaceAll('|', '\\|');

function section(program: (typeof programs)[number]): string {
  const rows = Object.entries(program.flags)
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
    `## ${program.name}`,
    '',
    program.syntax === 'go'
      ? "Syntax: Go's `flag` (one dash or two, `--flag=value` or `--flag value`, booleans only with `=`)."
      : 'Syntax: pflag (two dashes; `-v` is the only shorthand).',
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
  programs.map(section).join('\n\n'),
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
  "Upstream's stock roles grant all of it except three things: secrets, which they leave to the administrator; VolumeAttributesClasses in",
  'the role of csi-provisioner, without which claims that name such a class are not provisioned; and events in the role of',
  'csi-attacher, without which only events about the election are missing.',
  '',
  ...ruleTable('csi-provisioner: ClusterRole', provisionerRules),
  ...ruleTable('csi-attacher: ClusterRole', attacherRules),
  ...ruleTable('csi-resizer: ClusterRole', resizerRules),
  ...ruleTable('Leader election: Role in the namespace of the Lease', leaseRules),
];

const folder = join(import.meta.dirname, '..', 'docs', 'reference');
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'flags.md'), flagsPage.join('\n'));
writeFileSync(join(folder, 'rbac.md'), rbacPage.join('\n'));
