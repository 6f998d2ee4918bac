// SPDX-License-Identifier: Apache-2.0
/** The commands of csi-sidecars that explain. They are loaded by csi-sidecars alone, when one of them is called. */
export { explainProgram } from './command/explain-flags.ts';
export { explainRules } from './command/rbac.ts';
export { runExplain } from './command/program.ts';
export type { ExplainDeps } from './command/program.ts';
