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
import type { ProgramManifest } from '@csi-sidecars/sidecar';
import { allFlags, allGates } from './all/command-line.ts';
import { nodeProgram } from './node/flags.ts';

/** The controllers that `--controllers` names. Their rules, leases and needs are those of their own programs. */
export const combinedManifest: ProgramManifest<'csi-sidecars', 'combined'> = {
  name: 'csi-sidecars',
  kind: 'combined',
  package: 'all-in-one',
  commandLine: 'csi-sidecars',
  flags: { syntax: 'mixed', flags: allFlags, gates: allGates },
  rules: [],
  lockName: undefined,
  driverNeeds: [],
};

const { syntax, flags, gates } = nodeProgram;

/** A command of the same binary. */
export const allInOneManifest: ProgramManifest<'csi-sidecars', 'node'> = {
  name: 'csi-sidecars',
  kind: 'node',
  package: 'all-in-one',
  commandLine: 'csi-sidecars node',
  flags: { syntax, flags: { ...flags }, gates },
  rules: [],
  lockName: undefined,
  driverNeeds: [],
};

/** A command of the same binary, run by a person. */
export const leftoversManifest: ProgramManifest<'csi-sidecars', 'command'> = {
  name: 'csi-sidecars',
  kind: 'command',
  package: 'all-in-one',
  commandLine: 'csi-sidecars leftovers',
  flags: { syntax: leftoversProgram.syntax, flags: { ...leftoversProgram.flags }, gates: leftoversProgram.gates },
  rules: leftoversRules,
  lockName: undefined,
  driverNeeds: [],
};

/** A command of the same binary, run by a person. Its rights are those of the person. */
export const explainManifest: ProgramManifest<'csi-sidecars', 'command'> = {
  name: 'csi-sidecars',
  kind: 'command',
  package: 'all-in-one',
  commandLine: 'csi-sidecars explain',
  flags: { syntax: explainProgram.syntax, flags: { ...explainProgram.flags }, gates: explainProgram.gates },
  rules: explainRules,
  lockName: undefined,
  driverNeeds: [],
};

/** A command of the same binary, run by a person beside the driver. */
export const auditManifest: ProgramManifest<'csi-sidecars', 'command'> = {
  name: 'csi-sidecars',
  kind: 'command',
  package: 'all-in-one',
  commandLine: 'csi-sidecars audit',
  flags: { syntax: auditProgram.syntax, flags: { ...auditProgram.flags }, gates: auditProgram.gates },
  rules: auditRules,
  lockName: undefined,
  driverNeeds: [],
};

/** A command of the same binary, run by a person. */
export const doctorManifest: ProgramManifest<'csi-sidecars', 'command'> = {
  name: 'csi-sidecars',
  kind: 'command',
  package: 'all-in-one',
  commandLine: 'csi-sidecars doctor',
  flags: { syntax: doctorProgram.syntax, flags: { ...doctorProgram.flags }, gates: doctorProgram.gates },
  rules: doctorRules,
  lockName: undefined,
  driverNeeds: [],
};
