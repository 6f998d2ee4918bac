// SPDX-License-Identifier: Apache-2.0
/** The groups of files that are held to a share of killed mutants. */

export interface Group {
  readonly name: string;
  /** The package whose tests are run. */
  readonly home: string;
  readonly files: readonly string[];
}

const loopFiles = '{decide*,observe,plan,outcome,perform,target,loop,write-*}.ts';

export const groups: readonly Group[] = [
  { name: 'provisioner loops', home: 'packages/provisioner', files: [`packages/provisioner/src/**/${loopFiles}`] },
  { name: 'attacher loops', home: 'packages/attacher', files: [`packages/attacher/src/**/${loopFiles}`] },
  {
    name: 'runtime lease, queue, reflector',
    home: 'packages/runtime',
    files: ['lease', 'workqueue', 'informer/reflector'].map((folder) => `packages/runtime/src/${folder}/*.ts`),
  },
  { name: 'grpc codec', home: 'packages/grpc', files: ['packages/grpc/src/wire/*.ts'] },
];
