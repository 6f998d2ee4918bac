// SPDX-License-Identifier: Apache-2.0
/** From PersistentVolumes and classes to requests. */
import { expect, it } from 'vitest';
import { aClaim, aClass, aVolume } from '../../testing/builders.ts';
import { annotations } from '../names.ts';
import { toModifyRequest } from './request.ts';

const [target, claim] = [aClass(), aClaim()];
const plain = { extraModifyMetadata: false };
const expandSecret = { controllerExpandSecretRef: { name: 'login', namespace: 'team' } };
const { modifySecretName, modifySecretNamespace } = annotations;

it.each([
  { given: 'no specification', volume: {} },
  { given: 'no CSI source', volume: { spec: {} } },
  { given: 'an empty handle', volume: aVolume({ csi: { volumeHandle: '' } }) },
])('given a PersistentVolume with $given, then the request is refused', ({ volume }) => {
  expect(toModifyRequest({ claim, volume, target }, plain)).toEqual({ kind: 'error', message: 'empty volume handle' });
});

it.each([
  { given: 'nothing', volume: aVolume(), reference: undefined },
  {
    given: 'the secret of expansions',
    volume: aVolume({ csi: expandSecret }),
    reference: { name: 'login', namespace: 'team' },
  },
  {
    given: 'a secret without a namespace',
    volume: aVolume({ csi: { controllerExpandSecretRef: { name: 'login' } } }),
    reference: { name: 'login', namespace: '' },
  },
  {
    given: 'annotations beside that',
    volume: aVolume({ csi: expandSecret, annotations: { [modifySecretName]: 's', [modifySecretNamespace]: 'ns' } }),
    reference: { name: 's', namespace: 'ns' },
  },
  {
    given: 'half of the annotations',
    volume: aVolume({ csi: expandSecret, annotations: { [modifySecretName]: 's' } }),
    reference: { name: 'login', namespace: 'team' },
  },
])('given a PersistentVolume that names $given, then the secret is $reference', ({ volume, reference }) => {
  expect(toModifyRequest({ claim, volume, target }, plain)).toMatchObject({ kind: 'ok', value: { reference } });
});

it.each([
  { extraModifyMetadata: false, more: {} },
  {
    extraModifyMetadata: true,
    more: {
      'csi.storage.k8s.io/pvc/name': 'data',
      'csi.storage.k8s.io/pvc/namespace': 'team',
      'csi.storage.k8s.io/pv/name': 'pv1',
    },
  },
])(
  'given extra metadata $extraModifyMetadata, then the parameters of the class are sent with $more',
  ({ more, ...settings }) => {
    const planned = toModifyRequest({ claim, volume: aVolume(), target }, settings);
    const request = { volume_id: 'volume-1', mutable_parameters: { iops: '1000', ...more } };
    expect(planned).toEqual({ kind: 'ok', value: { reference: undefined, request } });
  },
);
