import { type Image, referenceOf } from "./image.ts";

/** Namespace of the signatures: what they are for, so that no other text that the key signs is taken for a release. */
export const SIGNED_AS = "rcpt-release";

/**
 * The commands that publish a release. One that is not final moves no tag that deployments and programs follow.
 * @param image that the manifests name; null: it is to be built and pushed first
 */
export function howToPublish(version: string, image: Image | null): string {
  const isFinal = !version.includes("-");
  const names = isFinal ? [version, version.split(".").slice(0, 2).join(".")] : [version];
  const tags = names.map((tag) => `-t YOUR.REGISTRY/rcpt:${tag}`).join(" ");
  const attested = "--sbom=true --provenance=mode=max --metadata-file dist/image.json";
  const build = [
    `  git tag -a v${version} -m "rcpt ${version}" && git push origin v${version}`,
    `  docker buildx build --push ${attested} ${tags} --build-arg VERSION=${version} --build-arg REVISION=$(git rev-parse HEAD) .`,
    `  npm run release -- ${version} --image "YOUR.REGISTRY/rcpt@$(node -p 'require("./dist/image.json")["containerimage.digest"]')"`,
  ];
  const publish = [
    `  ssh-keygen -Y sign -n ${SIGNED_AS} -f KEY dist/release/SHA256SUMS`,
    `  npm publish dist/release/rcpt-client-${version}.tgz --access public${isFinal ? "" : " --tag next"}`,
    `  helm push dist/release/rcpt-chart-${version}.tgz oci://YOUR.REGISTRY/charts`,
    `  gh release create v${version} dist/release/* --verify-tag --title "rcpt ${version}" --notes-from-tag${isFinal ? "" : " --prerelease"}`,
  ];
  return image === null
    ? [
        "To publish, from a checkout of the release's commit:",
        ...build,
        "and what that prints. (Attestations need Docker's containerd image store, or a builder of `docker buildx create`.)",
      ].join("\n")
    : [
        `To publish, with ${referenceOf(image)}:`,
        ...publish,
        "The last attaches all files to the tag's page on GitHub: the manifests, the command and what verifies a release are nowhere else.",
      ].join("\n");
}
