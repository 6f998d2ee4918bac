// SPDX-License-Identifier: Apache-2.0
export { aClaim, aPopulator, claimOf, foreignKind, populatorType, validKind } from './builders.ts';
