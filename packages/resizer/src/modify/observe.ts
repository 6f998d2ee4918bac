// SPDX-License-Identifier: Apache-2.0
/** From the caches and from memory to what a run begins with. */
import { type Cache, type Caches, type Clock, toObjectKey, type VolumeAttributesClass } from '@csi-sidecars/runtime';
import { type Claim, type ClaimKey, modifyStatusOf, volumeNameOf, wantedClassOf } from '../claim.ts';
import { recall } from '../claim-loop.ts';
import { type ModifyContext, type ModifyLoop, type ModifyState, nothingLearned } from './state.ts';

export function observe(
  context: ModifyContext,
  { claims, volumes, classes }: Caches<ModifyLoop>,
  { key, clock }: { readonly key: ClaimKey; readonly clock: Clock },
): ModifyState {
  const claim = claims.get(key);
  return {
    claim,
    volume: claim && volumes.get(toObjectKey(undefined, volumeNameOf(claim))),
    ...classesOf(claim, classes),
    ...recall(context, claim, { key, clock }),
    ...nothingLearned,
  };
}

/** The class that the user wants, and that of the modification that is recorded as begun. */
function classesOf(
  claim: Claim | undefined,
  classes: Pick<Cache<VolumeAttributesClass>, 'get'>,
): Pick<ModifyState, 'wantedClass' | 'targetClass'> {
  const classNamed = (name: string): VolumeAttributesClass | undefined => classes.get(toObjectKey(undefined, name));
  return {
    wantedClass: claim && classNamed(wantedClassOf(claim)),
    targetClass: claim && classNamed(modifyStatusOf(claim)?.targetVolumeAttributesClassName ?? ''),
  };
}
