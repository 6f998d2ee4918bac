// SPDX-License-Identifier: Apache-2.0
export { createProvisioner } from './provisioner.ts';
export type { ProvisionerDeps, ProvisionerOptions } from './provisioner.ts';
export { clusterRules } from './rbac.ts';
export type { ProvisionerSettings } from './settings.ts';
