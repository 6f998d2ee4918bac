// SPDX-License-Identifier: Apache-2.0
/** A pod: each of its volumes, of which the worst decides. */
import { isOwnedBy, type KubeObject, persistentVolumeClaims, persistentVolumes, type Pod } from '@csi-sidecars/runtime';
import { valueOf } from '../cluster/reader.ts';
import { hasEnded, isBeingDeleted, nameOf, objectName } from '../facts/objects.ts';
import { usersOf } from '../facts/users.ts';
import { volumeFactsOf } from '../facts/volume.ts';
import { worst } from '../verdict.ts';
import { judgeClaim } from './claims.ts';
import {
  byItself,
  change,
  type Context,
  describe,
  getYaml,
  onChange,
  podsOf,
  sinceCreated,
  verdictOf,
} from './context.ts';
import { withHealth } from './health.ts';
import { type Judged, type Track, withActor } from './judged.ts';
import { ofPod, staging } from './mounting.ts';
import { registration } from './registering.ts';

const mostVolumes = 10;

/** The worst volume decides. */
export async function judgePod(context: Context, pod: Pod): Promise<Judged> {
  const volumes: (Judged & { readonly object: KubeObject; readonly kind: string })[] = [];
  const all = (pod.spec?.volumes ?? []).filter(
    ({ persistentVolumeClaim, ephemeral, csi }) => (persistentVolumeClaim ?? ephemeral ?? csi) !== undefined,
  );
  const most = context.options.allVolumes ? all.length : mostVolumes;
  for (const volume of all.slice(0, most)) {
    if (volume.csi !== undefined)
      volumes.push(await withActor(context, await inlineVolume(context, pod, volume.csi.driver)));
    else volumes.push(await withActor(context, await claimOfPod(context, pod, volume)));
  }
  const track: Track = { stages: [{ id: 'schedule' }, { id: 'attach' }, { id: 'stage' }, { id: 'use' }] };
  const verdict = worst(volumes.map((each) => each.verdict));
  if (verdict === undefined)
    return {
      verdict: verdictOf(['X3', 0, 'nobody', undefined], 'the pod has no volume of a CSI driver'),
      driver: undefined,
      track,
      volumes,
    };
  const worstVolume = volumes.find((each) => each.verdict === verdict);
  const rest = all.length - volumes.length;
  const sentence = `${objectLabel(worstVolume)}${verdict.sentence}${rest === 0 ? '' : `; ${rest} more volumes were not read: --all-volumes`}`;
  const ordered = volumes.toSorted((left, right) => Number(right === worstVolume) - Number(left === worstVolume));
  return {
    verdict: { ...verdict, sentence },
    driver: worstVolume?.driver,
    attachRequired: worstVolume?.attachRequired,
    track: worstVolume?.track ?? track,
    volumes: ordered,
  };
}

function objectLabel(volume: { readonly object: KubeObject; readonly kind: string } | undefined): string {
  return volume === undefined || volume.kind === 'Pod' ? '' : `claim ${nameOf(volume.object)}: `;
}

type PodVolume = NonNullable<NonNullable<Pod['spec']>['volumes']>[number];

async function claimOfPod(
  context: Context,
  pod: Pod,
  volume: PodVolume,
): Promise<Judged & { readonly object: KubeObject; readonly kind: string }> {
  const { namespace } = pod.metadata ?? {};
  const name = volume.persistentVolumeClaim?.claimName ?? `${nameOf(pod)}-${volume.name}`;
  const read = await context.reader.get(persistentVolumeClaims, { namespace, name }, `why claim ${name} is not ready`);
  const kind = 'PersistentVolumeClaim';
  const none = { metadata: { namespace: namespace ?? '', name } } as KubeObject;
  const track: Track = { stages: [{ id: 'bind' }, { id: 'attach' }, { id: 'stage' }, { id: 'use' }] };
  if (read.kind === 'unknown')
    return {
      verdict: verdictOf(['X40', 5, 'other', 'bind'], `claim ${name} cannot be read`, { next: podsOf(namespace) }),
      driver: undefined,
      track,
      object: none,
      kind,
    };
  if (read.kind === 'absent') {
    const maker = volume.ephemeral === undefined ? 'user' : 'kube-controller-manager';
    return {
      verdict: verdictOf(
        ['X10', volume.ephemeral === undefined ? 4 : 3, maker, 'bind'],
        `claim ${name}, which the pod names, does not exist`,
        { retry: onChange('when the claim exists'), next: describe('pod', nameOf(pod), namespace) },
      ),
      driver: undefined,
      track,
      object: none,
      kind,
    };
  }
  const claim = read.value;
  if (volume.ephemeral !== undefined && !isOwnedBy(claim, pod)) {
    return {
      verdict: verdictOf(
        ['X10', 4, 'user', 'bind'],
        `claim ${name} has the name of the ephemeral volume ${volume.name}, and belongs to something else`,
        {
          changes: [change('rename the pod or its volume', objectName('Pod', pod), 'spec.volumes')],
          retry: onChange('when the name is free'),
          next: getYaml('pvc', name, namespace),
        },
      ),
      driver: undefined,
      track,
      object: claim,
      kind,
    };
  }
  const judged = await judgeClaim(context, claim);
  const volumeRead =
    claim.status?.phase === 'Bound'
      ? await context.reader.get(
          persistentVolumes,
          { name: claim.spec?.volumeName ?? '' },
          'which driver has the volume',
        )
      : undefined;
  const facts = volumeRead?.kind === 'found' ? volumeFactsOf(volumeRead.value) : undefined;
  // Of a bound claim it is this pod that matters, not another one of the claim.
  if (facts === undefined || volumeRead?.kind !== 'found' || isBeingDeleted(claim) || hasEnded(pod))
    return { ...judged, object: claim, kind };
  const own = await ofPod(context, {
    pod,
    volume: volumeRead.value,
    facts,
    users: valueOf(await usersOf(context.reader, claim)) ?? [pod],
  });
  const others = judged.verdict.stage === 'grow' || judged.verdict.stage === 'modify' ? [judged.verdict] : [];
  return { ...judged, verdict: withHealth(claim, worst([own, ...others])!), object: claim, kind };
}

async function inlineVolume(
  context: Context,
  pod: Pod,
  driver: string,
): Promise<Judged & { readonly object: KubeObject; readonly kind: string }> {
  const track: Track = { stages: [{ id: 'register' }, { id: 'stage' }, { id: 'use' }] };
  const node = pod.spec?.nodeName ?? '';
  const of = { driver, track, object: pod, kind: 'Pod' };
  if (node === '')
    return {
      ...of,
      verdict: verdictOf(['X42', 3, 'kube-scheduler', 'register'], `pod ${nameOf(pod)} is not scheduled yet`, {
        next: describe('pod', nameOf(pod), pod.metadata?.namespace),
        since: sinceCreated(pod),
        retry: byItself('kube-scheduler tries again'),
      }),
    };
  if (pod.status?.phase === 'Running')
    return {
      ...of,
      verdict: verdictOf(['X41', 0, 'nobody', undefined], `pod ${nameOf(pod)} uses the volume on ${node} and runs`),
    };
  const asked = { pod, node, driver };
  const verdict = (await registration(context, asked)) ?? (await staging(context, { ...asked, attachment: undefined }));
  return { ...of, verdict };
}
