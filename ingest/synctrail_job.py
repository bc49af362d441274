"""The application for ``spark-submit``: the command line of Synctrail, in the session that is given.

spark-submit [Spark's own options] synctrail_job.py load LAKE [options]
"""

from synctrail.cli import main

if __name__ == "__main__":
    main()
