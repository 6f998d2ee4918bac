// SPDX-License-Identifier: Apache-2.0
/** The commands of csi-sidecars that read. They are loaded by csi-sidecars alone, when one of them is called. */
export { auditProgram } from './audit/audit-flags.ts';
export { auditRules } from './audit/rbac.ts';
export { runAudit } from './audit/program.ts';
export { explainProgram } from './command/explain-flags.ts';
export { explainRules } from './command/rbac.ts';
export { runExplain } from './command/program.ts';
export type { ExplainDeps } from './command/program.ts';
export { doctorProgram } from './doctor/flags.ts';
export { doctorRules } from './doctor/rbac.ts';
export { runDoctor } from './doctor/command.ts';
