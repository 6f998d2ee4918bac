// SPDX-License-Identifier: Apache-2.0
export { lockNameOf } from '../src/names.ts';
export { aClaim, aClass } from './builders.ts';
