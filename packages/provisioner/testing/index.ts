// SPDX-License-Identifier: Apache-2.0
export { someSettings } from './builders.ts';
export { capacitySettings } from './capacity-settings.ts';
