// SPDX-License-Identifier: Apache-2.0
export { isOfNode, managedByOf } from './capacity/managed-by.ts';
export { createProvisioner } from './provisioner.ts';
export {
  cloningProtection,
  driverOfProvisioningFinalizer,
  snapshotSourceProtection,
  volumeFinalizer,
} from './names.ts';
export type { ProvisionerDeps, ProvisionerOptions } from './provisioner.ts';
export { clusterRules, namespaceRules } from './rbac.ts';
export { leftoversProgram } from './leftovers/flags.ts';
export { runLeftovers } from './leftovers/program.ts';
export type { LeftoversDeps, Terminal } from './leftovers/program.ts';
export { leftoversRules } from './leftovers/rbac.ts';
export { toDriverParameters } from './parameters/class-parameters.ts';
export { secretPurposes, toSecretReference } from './parameters/secrets.ts';
export { referenceGrants } from './source/grants.ts';
export type { ReferenceGrant } from './source/grants.ts';
export type { ProvisionerSettings } from './settings.ts';
export { provisionerProgram } from './flags.ts';
export { provisionerSidecar } from './program.ts';
