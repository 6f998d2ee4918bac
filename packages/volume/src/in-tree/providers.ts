// SPDX-License-Identifier: Apache-2.0
/** The in-tree plugins that a CSI driver replaced, by their field of a PersistentVolume. */
import { awsElasticBlockStore } from './aws.ts';
import { azureDisk, azureFile } from './azure.ts';
import { cinder } from './cinder.ts';
import { gcePersistentDisk } from './gce.ts';
import { portworxVolume } from './portworx.ts';
import type { InTreeField, InTreeProvider } from './provider.ts';
import { vsphereVolume } from './vsphere.ts';

export const providers: { readonly [F in InTreeField]: InTreeProvider<F> } = {
  gcePersistentDisk,
  awsElasticBlockStore,
  cinder,
  azureDisk,
  azureFile,
  vsphereVolume,
  portworxVolume,
};
