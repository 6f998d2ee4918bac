// SPDX-License-Identifier: Apache-2.0
export { aNodeDeployment, someSettings } from './builders.ts';
export { capacitySettings } from './capacity-settings.ts';
