// SPDX-License-Identifier: Apache-2.0
/**
 * Between csi-attacher and csi-provisioner of one process: one patch takes the finalizers of both off a PersistentVolume whose volume is
 * deleted. Why that is safe: docs/behaviour/attacher.md, "In one process with csi-provisioner".
 */
import type { ControllerPorts, Loop, PersistentVolume } from '@csi-sidecars/runtime';

/** The finalizers that can be taken off a PersistentVolume now, for good: what is answered once stays true. */
type Offer = (volume: PersistentVolume) => readonly string[];

export interface SharedRelease {
  /** The loop of csi-attacher. What `make` returns is asked while the loop works. */
  offering(loop: Loop, make: (ports: ControllerPorts) => Offer): Loop;
  /** The loop of csi-provisioner, with the finalizer that it takes off. */
  taking(loop: Loop, finalizer: string): Loop;
  /** Nothing while csi-attacher does not work here. */
  readonly offered: Offer;
  /** Whether csi-provisioner works here, and the volume has its finalizer. */
  isTaken(volume: PersistentVolume): boolean;
}

export function createSharedRelease(): SharedRelease {
  let offer: Offer = () => [];
  /** Empty: none. */
  let taken = '';
  return {
    offering: (loop, make) =>
      whileWorking(loop, (ports) => {
        offer = make(ports);
        return () => (offer = () => []);
      }),
    taking: (loop, finalizer) =>
      whileWorking(loop, () => {
        taken = finalizer;
        return () => (taken = '');
      }),
    offered: (volume) => offer(volume),
    isTaken: ({ metadata }) => metadata?.finalizers?.includes(taken) === true,
  };
}

/** `begin` is called when the caches are synced, and what it returns when nothing of the loop runs any more. */
function whileWorking(loop: Loop, begin: (ports: ControllerPorts) => () => void): Loop {
  return {
    assemble: (ports) => {
      const assembled = loop.assemble(ports);
      return {
        ...assembled,
        run: async (signal) => {
          const end = begin(ports);
          await assembled.run(signal).finally(end);
        },
      };
    },
  };
}
