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
import type { AnyProgramFlags, ProgramManifest } from '@csi-sidecars/sidecar';
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

type CommandManifest = ProgramManifest<'csi-sidecars', 'command'>;

/** A command of the same binary, run by a person. */
function commandManifest(name: string, program: AnyProgramFlags, rules: CommandManifest['rules']): CommandManifest {
  return {
    name: 'csi-sidecars',
    kind: 'command',
    package: 'all-in-one',
    commandLine: `csi-sidecars ${name}`,
    flags: { syntax: program.syntax, flags: { ...program.flags }, gates: program.gates },
    rules,
    lockName: undefined,
    driverNeeds: [],
  };
}

export const leftoversManifest: CommandManifest = commandManifest('leftovers', leftoversProgram, leftoversRules);
/** Its rights are those of the person. */
export const explainManifest: CommandManifest = commandManifest('explain', explainProgram, explainRules);
/** It runs beside the driver. */
export const auditManifest: CommandManifest = commandManifest('audit', auditProgram, auditRules);
export const doctorManifest: CommandManifest = commandManifest('doctor', doctorProgram, doctorRules);
