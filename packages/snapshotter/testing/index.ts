// SPDX-License-Identifier: Apache-2.0
export * from './builders.ts';
export { aSnapshotter, type Fixture, type FixtureOptions } from './snapshotter-fixture.ts';
export { lockNameOf } from '../src/names.ts';
