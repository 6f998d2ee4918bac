// SPDX-License-Identifier: Apache-2.0
export { aNodeDeployment, someSettings } from './builders.ts';
export { managedByOf } from '../src/capacity/managed-by.ts';
export { capacitySettings } from './capacity-settings.ts';
export { lockNameOf } from '../src/names.ts';
