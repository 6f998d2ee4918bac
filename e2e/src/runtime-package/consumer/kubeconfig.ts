// SPDX-License-Identifier: Apache-2.0
/** Prints how many Namespaces there are, with the `KubeConfig` of a program that has client-node already. */
import { KubeConfig } from '@kubernetes/client-node';
import { namespaces, openCluster } from '@csi-sidecars/runtime';

const kubeconfig = new KubeConfig();
kubeconfig.loadFromDefault();
const cluster = await openCluster({ name: 'kubeconfig', kubeconfig });
const { items } = await cluster.client.list(namespaces);
console.log('namespaces', items.length);
await cluster[Symbol.asyncDispose]();
