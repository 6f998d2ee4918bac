// SPDX-License-Identifier: Apache-2.0
/** Pods that use volumes: a shell script in busybox that says what it did, and then waits to be ended. */
import type { Pod } from '@csi-sidecars/runtime';
import { podImage } from '../images/images.ts';

type PodSpec = NonNullable<Pod['spec']>;
export type Volume = Omit<NonNullable<PodSpec['volumes']>[number], 'name'>;

export interface UserPod {
  readonly name: string;
  readonly volume: Volume;
  /** Lines of a shell script; the volume is at /data, or is the device /dev/data. */
  readonly script: readonly string[];
  /** Default: a file system. */
  readonly as?: 'folder' | 'device';
  readonly nodeName?: string;
  /** Further volumes, each at the folder of its name. */
  readonly more?: Readonly<Record<string, Volume>>;
}

export const container = 'main';

export function aUserPod({ name, volume, script, as = 'folder', nodeName, more = {} }: UserPod): Pod {
  const place =
    as === 'folder'
      ? { volumeMounts: ['data', ...Object.keys(more)].map((each) => ({ name: each, mountPath: `/${each}` })) }
      : { volumeDevices: [{ name: 'data', devicePath: '/dev/data' }] };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 2,
      restartPolicy: 'Never',
      ...(nodeName !== undefined && { nodeName }),
      containers: [
        {
          name: container,
          image: podImage,
          imagePullPolicy: 'Never',
          command: untilEnded(script),
          securityContext: { readOnlyRootFilesystem: true },
          ...place,
        },
      ],
      volumes: Object.entries({ data: volume, ...more }).map(([each, source]) => ({ name: each, ...source })),
    },
  };
}

/** Runs the script, then waits to be ended. */
export function untilEnded(script: readonly string[]): string[] {
  // A shell that waits for a child lets signals wait as well; "wait" is interrupted by them.
  return ['/bin/sh', '-ec', [...script, "trap 'exit 0' TERM", 'sleep 100000 & wait'].join('\n')];
}

export function claimed(claimName: string): Volume {
  return { persistentVolumeClaim: { claimName } };
}
