// SPDX-License-Identifier: Apache-2.0
/** The admission plugins of kube-apiserver that volumes depend on, in its order. */
import type { Admission } from '@csi-sidecars/runtime/testing';
import { claimResize } from './claim-resize.ts';
import { defaultStorageClass } from './default-class.ts';
import { namespaceLifecycle } from './namespace-lifecycle.ts';
import { storageObjectInUse } from './object-in-use.ts';

export const admission: readonly Admission[] = [
  namespaceLifecycle,
  defaultStorageClass,
  storageObjectInUse,
  claimResize,
];
