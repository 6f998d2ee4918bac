// SPDX-License-Identifier: Apache-2.0
/** Programs of which only the command line exists. Each moves into a package of its own when it is built. */
import type { ProgramManifest } from './manifest.ts';
import { snapshotterProgram } from './snapshotter.ts';

const packages = {
  'csi-snapshotter': 'snapshotter',
};

export const declaredManifests: readonly ProgramManifest<keyof typeof packages, 'controller'>[] = [
  snapshotterProgram,
].map(({ name, syntax, flags, gates }) => ({
  name: name as keyof typeof packages,
  kind: 'controller',
  state: 'declared',
  package: packages[name as keyof typeof packages],
  commandLine: name,
  flags: { syntax, flags: { ...flags }, gates },
  rules: [],
  lockName: undefined,
  driverNeeds: [],
}));
