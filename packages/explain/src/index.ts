// SPDX-License-Identifier: Apache-2.0
/** The commands of csi-sidecars that explain. They are loaded by csi-sidecars alone, when one of them is called. */
import type { ExplainDeps } from './command/program.ts';

export { explainProgram } from './command/explain-flags.ts';
export { runExplain } from './command/program.ts';
export type { ExplainDeps } from './command/program.ts';
export { doctorProgram } from './doctor/flags.ts';
export { doctorRules } from './doctor/rbac.ts';

/** `csi-sidecars doctor`. Resolves with the exit code. Loaded when it is called, because it knows the tables of all controllers. */
export async function runDoctor(deps: ExplainDeps): Promise<number> {
  const doctor = await import('./doctor/command.ts');
  return await doctor.runDoctor(deps);
}
