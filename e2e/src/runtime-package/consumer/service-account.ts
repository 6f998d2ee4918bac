// SPDX-License-Identifier: Apache-2.0
/** The files of a pod's service account, from the folder that `SERVICE_ACCOUNT` names. */
import { type Files, systemFiles } from '@csi-sidecars/runtime';

const mounted = '/var/run/secrets/kubernetes.io/serviceaccount';
const { read } = systemFiles();

export const files: Files = { read: (path) => read(path.replace(mounted, process.env['SERVICE_ACCOUNT'] ?? mounted)) };
