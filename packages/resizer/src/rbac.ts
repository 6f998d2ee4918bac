// SPDX-License-Identifier: Apache-2.0
/** What the program uses: never a verb more than upstream's stock roles give. What leader election uses is the runtime's. */
import type { CheckedRule } from '@csi-sidecars/runtime';
import { canModify, type ResizerDriver } from './driver.ts';
import type { ResizerSettings } from './settings.ts';

/** What the conditions of the rules are about. */
export type ResizerFact = 'pods' | 'modify';

const nothingGrows = 'nothing grows, and no attributes are modified';

/** For a ClusterRole. */
export const clusterRules: readonly CheckedRule<ResizerFact>[] = [
  { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['list', 'watch'], without: nothingGrows },
  {
    apiGroups: [''],
    resources: ['persistentvolumes'],
    verbs: ['patch'],
    without: 'volumes grow and their objects do not, so the driver is called again and again',
  },
  { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['list', 'watch'], without: nothingGrows },
  {
    apiGroups: [''],
    resources: ['persistentvolumeclaims'],
    verbs: ['get'],
    without: 'a claim that others change at the same time is tried again later',
  },
  {
    apiGroups: [''],
    resources: ['persistentvolumeclaims/status'],
    verbs: ['patch'],
    without: 'no attempt can be recorded, so none is made',
  },
  {
    apiGroups: [''],
    resources: ['events'],
    verbs: ['create', 'patch'],
    without: 'failures are seen in the log only',
  },
  {
    apiGroups: [''],
    resources: ['pods'],
    verbs: ['list', 'watch'],
    when: { text: '`--handle-volume-inuse-error` is on', facts: ['pods'] },
    without: 'nothing grows; grant it, or set --handle-volume-inuse-error=false',
  },
  {
    apiGroups: ['storage.k8s.io'],
    resources: ['volumeattributesclasses'],
    verbs: ['list', 'watch'],
    when: { text: 'the driver has MODIFY_VOLUME and the gate VolumeAttributesClass is on', facts: ['modify'] },
    without: 'attributes are not modified; growing goes on',
  },
  {
    apiGroups: [''],
    resources: ['secrets'],
    verbs: ['get'],
    when: { text: 'a volume names an expand or modify secret', facts: 'unknown' },
    without: 'volumes with such a secret neither grow nor are they modified',
  },
];

/** What is known of the conditions when the program starts. */
export function rightsFacts(
  driver: ResizerDriver,
  { features, handleInUseErrors }: Pick<ResizerSettings, 'features' | 'handleInUseErrors'>,
): Record<ResizerFact, boolean> {
  return {
    pods: driver.expansion !== 'none' && handleInUseErrors,
    modify: canModify(driver) && features.volumeAttributesClass,
  };
}
