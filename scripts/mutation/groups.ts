// SPDX-License-Identifier: Apache-2.0
/** The groups of files that are held to a share of killed mutants. */

export interface Group {
  readonly name: string;
  /** Patterns of the test files that are run, those that matter most first: files of the first pattern are never left out. */
  readonly tests: readonly string[];
  readonly files: readonly string[];
}

const loopFiles = '{decide*,conclu*,observe,plan,outcome,perform,target,loop,write-*,update-*,*-calls,protection}.ts';

export const groups: readonly Group[] = [
  {
    name: 'provisioner loops',
    tests: ['packages/provisioner/**/*.test.ts'],
    files: [`packages/provisioner/src/**/${loopFiles}`],
  },
  {
    name: 'attacher loops',
    tests: ['packages/attacher/**/*.test.ts'],
    files: [`packages/attacher/src/**/${loopFiles}`],
  },
  {
    name: 'resizer loops',
    tests: ['packages/resizer/**/*.test.ts'],
    files: [`packages/resizer/src/**/${loopFiles}`],
  },
  {
    name: 'snapshotter loops',
    tests: ['packages/snapshotter/**/*.test.ts'],
    files: [`packages/snapshotter/src/**/${loopFiles}`],
  },
  {
    name: 'snapshot-controller loops',
    tests: ['packages/snapshot-controller/**/*.test.ts'],
    files: [`packages/snapshot-controller/src/**/${loopFiles}`],
  },
  {
    name: 'runtime lease, queue, reflector',
    tests: ['packages/runtime/**/*.test.ts'],
    files: ['lease', 'workqueue', 'informer/reflector'].map((folder) => `packages/runtime/src/${folder}/*.ts`),
  },
  {
    name: 'connection to the driver',
    tests: ['packages/csi/src/channel/*.test.ts'],
    files: ['packages/csi/src/channel/{connection,exchange}.ts'],
  },
  {
    name: 'grpc codec',
    // The codec is tested with the messages of CSI.
    tests: ['packages/csi/src/message-codecs*.test.ts', 'packages/csi/testing/*.test.ts', 'packages/grpc/**/*.test.ts'],
    files: ['packages/grpc/src/wire/*.ts'],
  },
];
