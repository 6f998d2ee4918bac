// SPDX-License-Identifier: Apache-2.0
/** Prints what happens to ConfigMaps, for ever: an informer without a controller. */
import { configMaps, keyOf, openCluster } from '@csi-sidecars/runtime';

const cluster = await openCluster({ name: 'watch', kubeconfig: process.env['KUBECONFIG'] });
const informer = await cluster.watch({ resource: configMaps });
informer.addHandler({
  add: (object) => console.log('added', keyOf(object)),
  update: (_previous, object) => console.log('changed', keyOf(object)),
  delete: ({ key }) => console.log('deleted', key),
});
