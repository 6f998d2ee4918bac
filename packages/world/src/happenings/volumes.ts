// SPDX-License-Identifier: Apache-2.0
/** What meets a claim while its volume is made, and the source that the volume is made from. */
import { persistentVolumeClaims } from '@csi-sidecars/runtime';
import { namespace } from '../names.ts';
import { adminKinds } from './admins.ts';
import { kind, type Kinds } from './kind.ts';
import { afterwards, when } from './moments.ts';
import { doNow, meet } from './more-users.ts';
import { claims } from './users.ts';

const selectedNode = 'volume.kubernetes.io/selected-node';

export const volumeKinds: Kinds = {
  /** Another node is selected for a pod while its volume is made. What binds claims may be late. */
  nodeDrainsInCall: kind({
    weight: 4,
    draw: (dice) => ({
      claim: dice.below(claims),
      trouble: dice.pick(['slow', 'slow', 'timesOut', 'openAfter']),
      ms: dice.pick([20, 500, 5_000]),
      bindMs: dice.pick([0, 1_000, 8_000]),
    }),
    act: (world, { claim, trouble, ms, bindMs }) => {
      const { sim, network, schedule } = world;
      meet(world, 'CreateVolume', trouble);
      doNow(world, 'createClaim', { claim, class: 'late', attributes: '' });
      doNow(world, 'createPod', { claim, pod: 0 });
      const selected = (): string | undefined =>
        sim.server.objects.get(persistentVolumeClaims, { namespace, name: `claim-${claim}` })?.metadata?.annotations?.[
          selectedNode
        ];
      when(world, selected, (name) => {
        const untilMs = schedule.elapsedMs + 30_000;
        network.lag({ untilMs, who: 'kube-controller-manager', resource: 'persistentvolumes', ms: bindMs });
        const node = Number(name.split('-').at(-1));
        afterwards(world, ms, () => adminKinds['nodeDrains']!.act(world, { node, ms: 30_000 }));
      });
    },
  }),
};
