// SPDX-License-Identifier: Apache-2.0
import {
  auditProgram,
  auditRules,
  doctorProgram,
  doctorRules,
  explainProgram,
  explainRules,
} from '@csi-sidecars/explain';
import { leftoversProgram, leftoversRules } from '@csi-sidecars/provisioner';
import { expect, it } from 'vitest';
import { allFlags, allGates } from './all/command-line.ts';
import {
  allInOneManifest,
  auditManifest,
  combinedManifest,
  doctorManifest,
  explainManifest,
  leftoversManifest,
} from './manifest.ts';
import { nodeProgram } from './node/flags.ts';

it('given the manifests, then each is a command line of csi-sidecars with its flags, and only commands of a person have rights of their own', () => {
  const common = { name: 'csi-sidecars', package: 'all-in-one', rules: [], lockName: undefined, driverNeeds: [] };
  const { gates } = leftoversProgram;
  expect([
    combinedManifest,
    allInOneManifest,
    leftoversManifest,
    explainManifest,
    doctorManifest,
    auditManifest,
  ]).toEqual([
    {
      ...common,
      kind: 'combined',
      commandLine: 'csi-sidecars',
      flags: { syntax: 'mixed', flags: allFlags, gates: allGates },
    },
    {
      ...common,
      kind: 'node',
      commandLine: 'csi-sidecars node',
      flags: { syntax: 'go', flags: nodeProgram.flags, gates: {} },
    },
    {
      ...common,
      kind: 'command',
      commandLine: 'csi-sidecars leftovers',
      flags: { syntax: 'pflag', flags: leftoversProgram.flags, gates },
      rules: leftoversRules,
    },
    {
      ...common,
      kind: 'command',
      commandLine: 'csi-sidecars explain',
      flags: { syntax: 'pflag', flags: explainProgram.flags, gates: {} },
      rules: explainRules,
    },
    {
      ...common,
      kind: 'command',
      commandLine: 'csi-sidecars doctor',
      flags: { syntax: 'pflag', flags: doctorProgram.flags, gates: {} },
      rules: doctorRules,
    },
    {
      ...common,
      kind: 'command',
      commandLine: 'csi-sidecars audit',
      flags: { syntax: 'pflag', flags: auditProgram.flags, gates: {} },
      rules: auditRules,
    },
  ]);
});
