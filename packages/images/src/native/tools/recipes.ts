import type { Download, Recipe, ToolInstall } from './recipe.ts';
import { go } from './recipes-go.ts';

type Programs = Readonly<Record<string, string>>;

const npm = (name: string, program: string): ToolInstall => ({ from: 'npm', name, programs: [program] });
const pypi = (name: string, program: string): ToolInstall => ({ from: 'pypi', name, programs: [program] });
const binary = (program: string): Download => ({
  from: 'download',
  format: 'binary',
  programs: { [program]: program },
});
const tar = (programs: Programs): Download => ({ from: 'download', format: 'tar.gz', programs });
const zip = (programs: Programs): Download => ({ from: 'download', format: 'zip', programs });

function recipe(id: string, url: string, install: ToolInstall, verifyCommand: string): Recipe {
  const [, version = '', revision = ''] = /^[a-z-]+@(.+)-r(\d+)$/.exec(id) ?? [];
  return { id, version, revision: Number(revision), url, install, verifyCommand: verifyCommand.split(' ') };
}

const githubUrl = (path: string): string => `https://github.com/${path}`;

/**
 * The recipes of the catalogue. Tools available only as a publisher's file have no checksum until someone with access
 * to the publisher adds it; until then they are installed only with a checksum from the operator.
 */
export const RECIPES: readonly Recipe[] = [
  recipe(
    'age@1.3.1-r1',
    githubUrl('FiloSottile/age/releases/download/v1.3.1/age-v1.3.1-linux-amd64.tar.gz'),
    go('age', tar({ age: 'age/age', 'age-keygen': 'age/age-keygen' })),
    'age --version',
  ),
  recipe(
    'argocd@3.4.6-r1',
    githubUrl('argoproj/argo-cd/releases/download/v3.4.6/argocd-linux-amd64'),
    binary('argocd'),
    'argocd version --client',
  ),
  recipe(
    'aws-cli@2.36.15-r1',
    'https://awscli.amazonaws.com/awscli-exe-linux-x86_64-2.36.15.zip',
    zip({ aws: 'aws/dist/aws' }),
    'aws --version',
  ),
  recipe(
    'azure-cli@2.89.0-r1',
    'https://pypi.org/project/azure-cli/2.89.0/',
    pypi('azure-cli', 'az'),
    'az --version',
  ),
  recipe(
    'doctl@1.166.0-r1',
    githubUrl('digitalocean/doctl/releases/download/v1.166.0/doctl-1.166.0-linux-amd64.tar.gz'),
    go('doctl', tar({ doctl: 'doctl' })),
    'doctl version',
  ),
  recipe(
    'duckdb@1.5.5-r1',
    'https://pypi.org/project/duckdb-cli/1.5.5/',
    pypi('duckdb-cli', 'duckdb'),
    'duckdb --version',
  ),
  recipe(
    'firebase-cli@15.25.1-r1',
    'https://www.npmjs.com/package/firebase-tools/v/15.25.1',
    npm('firebase-tools', 'firebase'),
    'firebase --version',
  ),
  recipe(
    'flyctl@0.4.78-r1',
    githubUrl('superfly/flyctl/releases/download/v0.4.78/flyctl_0.4.78_Linux_x86_64.tar.gz'),
    tar({ flyctl: 'flyctl', fly: 'flyctl' }),
    'flyctl version',
  ),
  recipe(
    'github-cli@2.97.0-r1',
    githubUrl('cli/cli/releases/download/v2.97.0/gh_2.97.0_linux_amd64.tar.gz'),
    go('gh', tar({ gh: 'gh_2.97.0_linux_amd64/bin/gh' })),
    'gh --version',
  ),
  recipe(
    'gitlab-cli@1.111.0-r1',
    'https://gitlab.com/gitlab-org/cli/-/releases/v1.111.0/downloads/glab_1.111.0_linux_amd64.tar.gz',
    tar({ glab: 'bin/glab' }),
    'glab --version',
  ),
  recipe(
    'google-cloud-cli@577.0.0-r1',
    'https://storage.googleapis.com/cloud-sdk-release/google-cloud-cli-577.0.0-linux-x86_64.tar.gz',
    tar({
      gcloud: 'google-cloud-sdk/bin/gcloud',
      gsutil: 'google-cloud-sdk/bin/gsutil',
      bq: 'google-cloud-sdk/bin/bq',
    }),
    'gcloud --version',
  ),
  recipe(
    'helm@4.2.3-r1',
    'https://get.helm.sh/helm-v4.2.3-linux-amd64.tar.gz',
    go('helm', tar({ helm: 'linux-amd64/helm' })),
    'helm version',
  ),
  recipe(
    'kubectl@1.36.3-r1',
    'https://dl.k8s.io/release/v1.36.3/bin/linux/amd64/kubectl',
    go('kubectl', binary('kubectl')),
    'kubectl version --client',
  ),
  recipe(
    'kustomize@5.8.1-r1',
    githubUrl(
      'kubernetes-sigs/kustomize/releases/download/kustomize%2Fv5.8.1/kustomize_v5.8.1_linux_amd64.tar.gz',
    ),
    go('kustomize', tar({ kustomize: 'kustomize' })),
    'kustomize version',
  ),
  recipe(
    'minio-mc@RELEASE.2025-08-13T08-35-41Z-r1',
    'https://dl.min.io/client/mc/release/linux-amd64/archive/mc.RELEASE.2025-08-13T08-35-41Z',
    go('mc', binary('mc')),
    'mc --version',
  ),
  recipe(
    'mongosh@2.9.2-r1',
    'https://www.npmjs.com/package/mongosh/v/2.9.2',
    npm('mongosh', 'mongosh'),
    'mongosh --version',
  ),
  recipe(
    'pulumi@3.255.0-r1',
    'https://get.pulumi.com/releases/sdk/pulumi-v3.255.0-linux-x64.tar.gz',
    go('pulumi', tar({ pulumi: 'pulumi/pulumi' })),
    'pulumi version',
  ),
  recipe(
    'railway-cli@5.30.4-r1',
    githubUrl('railwayapp/cli/releases/download/v5.30.4/railway-v5.30.4-x86_64-unknown-linux-gnu.tar.gz'),
    tar({ railway: 'railway' }),
    'railway --version',
  ),
  recipe(
    'rclone@1.75.0-r1',
    'https://downloads.rclone.org/v1.75.0/rclone-v1.75.0-linux-amd64.zip',
    go('rclone', zip({ rclone: 'rclone-v1.75.0-linux-amd64/rclone' })),
    'rclone version',
  ),
  recipe(
    'restic@0.19.1-r1',
    githubUrl('restic/restic/releases/download/v0.19.1/restic_0.19.1_linux_amd64.bz2'),
    go('restic'),
    'restic version',
  ),
  recipe(
    'sops@3.13.3-r1',
    githubUrl('getsops/sops/releases/download/v3.13.3/sops-v3.13.3.linux.amd64'),
    go('sops', binary('sops')),
    'sops --disable-version-check --version',
  ),
  recipe(
    'stripe-cli@1.45.0-r1',
    'https://www.npmjs.com/package/@stripe/cli/v/1.45.0',
    npm('@stripe/cli', 'stripe'),
    'stripe version',
  ),
  recipe(
    'supabase-cli@2.111.0-r1',
    'https://www.npmjs.com/package/supabase/v/2.111.0',
    npm('supabase', 'supabase'),
    'supabase --version',
  ),
  recipe(
    'terraform@1.15.8-r1',
    'https://releases.hashicorp.com/terraform/1.15.8/terraform_1.15.8_linux_amd64.zip',
    zip({ terraform: 'terraform' }),
    'terraform version',
  ),
];
