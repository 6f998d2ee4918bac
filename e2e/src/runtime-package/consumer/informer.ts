// SPDX-License-Identifier: Apache-2.0
/** The informer of `watch.ts`, as if it ran in a pod. */
import { configMaps, keyOf, openCluster } from '@csi-sidecars/runtime';
import { files } from './service-account.ts';

const cluster = await openCluster({ name: 'informer', files });
const informer = await cluster.watch({ resource: configMaps });
informer.addHandler({
  add: (object) => console.log('added', keyOf(object)),
  update: (_previous, object) => console.log('changed', keyOf(object)),
  delete: ({ key }) => console.log('deleted', key),
});
